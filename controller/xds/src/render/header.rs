//! Headers that are set and taken away.

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::common::mutation_rules::v3::header_mutation::Action;
use envoy_types::pb::envoy::config::common::mutation_rules::v3::header_mutation::RemoveOnMatch;
use envoy_types::pb::envoy::config::core::v3::header_value_option::HeaderAppendAction;
use envoy_types::pb::envoy::config::core::v3::{HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::config::route::v3::Route;
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use sluice_ir::{
    Expression, Filter, GlobalConfig, Header, HeaderChange, HeaderValue as ModelValue,
    request_header_changes, response_expires, response_header_changes,
};

use super::format::format;
use super::response_format::{self, format_unless_error};
use super::{hsts, replaced_headers};

/// Headers that say how long a response may be kept.
const EXPIRES: [&str; 2] = ["cache-control", "expires"];

pub(super) fn remove(header: &str) -> HeaderMutation {
    HeaderMutation {
        action: Some(Action::Remove(header.to_owned())),
    }
}

/// Sets a header of the model.
pub(super) fn set_header(header: &Header) -> HeaderValueOption {
    let name = header.name.as_str().to_ascii_lowercase();
    set(&name, &format(&header.value))
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

/// Applies header filters to the requests and responses of a route.
pub(super) fn modify<'a, F: Iterator<Item = &'a Filter>>(
    route: &mut Route,
    global: &GlobalConfig,
    filters: impl Fn() -> F,
) {
    for change in request_header_changes(filters()) {
        change_header(
            &change,
            |value| format(&value.value),
            &mut route.request_headers_to_add,
            &mut route.request_headers_to_remove,
        );
    }
    modify_response(route, global, filters);
}

/// Applies those of responses.
pub(super) fn modify_response<'a, F: Iterator<Item = &'a Filter>>(
    route: &mut Route,
    global: &GlobalConfig,
    filters: impl Fn() -> F,
) {
    let expires = response_expires(filters());
    if let Some(expires) = expires {
        let [kept, until] = EXPIRES;
        let kept = (kept, expires.cache_control());
        let until = (until, expires.date().map(str::to_owned));
        for (name, value) in [kept, until] {
            let value = value.map(|value| format_unless_error(&Expression::literal(&value)));
            route
                .response_headers_to_add
                .extend(value.map(|value| set(name, &value)));
        }
    }
    let changes = response_header_changes(filters());
    // The route writes them behind what is taken away.
    let is_written = |change: &HeaderChange| {
        let mut names = EXPIRES.iter();
        expires.is_some() && names.any(|name| change.name.is_alike(name))
    };
    let by_filter = changes.iter().filter(|change| !is_written(change));
    let by_filter = replaced_headers::on_route(by_filter, global);
    route
        .typed_per_filter_config
        .extend(by_filter.map(|config| (replaced_headers::FILTER.to_owned(), config)));
    for change in changes {
        if change.name.is_alike(hsts::HEADER) {
            let of_route = hsts::on_route(&change);
            route
                .typed_per_filter_config
                .extend(of_route.map(|config| (hsts::FILTER.to_owned(), config)));
        }
        change_header(
            &change,
            of_response,
            &mut route.response_headers_to_add,
            &mut route.response_headers_to_remove,
        );
    }
}

/// Envoy removes before it adds.
fn change_header(
    change: &HeaderChange,
    written: impl Fn(&ModelValue) -> String,
    add: &mut Vec<HeaderValueOption>,
    remove: &mut Vec<String>,
) {
    let name = change.name.as_str();
    if change.replaces || change.hides {
        remove.push(name.to_owned());
    }
    let values = change.values.iter().map(written);
    add.extend(values.map(|format| beside(name, &format)));
}

/// A value of a header of responses, beside others.
pub(super) fn value_of(name: &str, value: &ModelValue) -> HeaderValueOption {
    beside(name, &of_response(value))
}

fn of_response(value: &ModelValue) -> String {
    match value.unless_error {
        true => format_unless_error(&value.value),
        false => response_format::format(&value.value),
    }
}

fn beside(name: &str, format: &str) -> HeaderValueOption {
    HeaderValueOption {
        append_action: HeaderAppendAction::AppendIfExistsOrAdd.into(),
        ..set(name, format)
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
