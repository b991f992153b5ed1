//! Headers that are set and taken away.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::common::mutation_rules::v3::header_mutation::Action;
use envoy_types::pb::envoy::config::common::mutation_rules::v3::header_mutation::RemoveOnMatch;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;

pub(super) fn remove(header: &str) -> HeaderMutation {
    HeaderMutation {
        action: Some(Action::Remove(header.to_owned())),
    }
}

/// Replaces what is there. The value is a format: what is data goes through [`literal`].
pub(super) fn set(header: &str, format: &str) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue {
            key: header.to_owned(),
            value: format.to_owned(),
            ..HeaderValue::default()
        }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        ..HeaderValueOption::default()
    }
}

/// In a format, a text that means itself.
pub(super) fn literal(text: &str) -> String {
    text.replace('%', "%%")
}

/// Takes away every header whose name begins so.
pub(super) fn remove_prefix(prefix: &str) -> HeaderMutation {
    let pattern = StringMatcher {
        match_pattern: Some(MatchPattern::Prefix(prefix.to_owned())),
        ignore_case: true,
    };
    HeaderMutation {
        action: Some(Action::RemoveOnMatch(RemoveOnMatch {
            key_matcher: Some(pattern),
        })),
    }
}

/// Only when it is not there.
pub(super) fn add(header: &str, format: &str) -> HeaderValueOption {
    HeaderValueOption {
        append_action: HeaderAppendAction::AddIfAbsent.into(),
        ..set(header, format)
    }
}

pub(super) fn append(header: HeaderValueOption) -> HeaderMutation {
    HeaderMutation {
        action: Some(Action::Append(header)),
    }
}
