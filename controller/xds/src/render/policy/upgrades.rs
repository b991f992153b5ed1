//! Requests that ask for another protocol, and how much of one is a body.
//!
//! An `Upgrade` header takes no policy away: upgraded requests have the chain of all others. What is said on a WebSocket is no
//! body, though, so a limit of bodies spares a handshake, which announces none. To Envoy both are the same bytes.
//!
//! Envoy takes `Upgrade` away from requests whose `Connection` does not name it, so a request that has it here is upgraded.

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::extensions::common::matching::v3::ExtensionWithMatcher;
use envoy_types::pb::envoy::extensions::filters::common::matcher::action::v3::SkipFilter;
use envoy_types::pb::envoy::r#type::matcher::v3::HttpRequestHeaderMatchInput;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::single_predicate::Matcher as Matched;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::{
    MatchType, PredicateList, SinglePredicate,
};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::{FieldMatcher, Predicate};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::{MatcherList, MatcherType, OnMatch};
use envoy_types::pb::xds::r#type::matcher::v3::regex_matcher::{EngineType, GoogleRe2};
use envoy_types::pb::xds::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::xds::r#type::matcher::v3::{Matcher, RegexMatcher, StringMatcher};

use crate::render::proto::xds_extension;

/// Protocols that a request may ask for in `Upgrade`; Envoy wants to know the names beforehand. Kubernetes' `exec` and `port-forward` ask for
/// SPDY, `docker attach` for TCP.
pub(in crate::render) const PROTOCOLS: [&str; 3] = ["websocket", "spdy/3.1", "tcp"];
/// A length of zero is none.
const SOME_LENGTH: &str = ".*[1-9].*";
const NO_LENGTH: &str = "0+";

/// A filter that a handshake goes by.
pub(super) fn skipped_by_handshake(filter: TypedExtensionConfig) -> ExtensionWithMatcher {
    skipped_by(handshake(), filter)
}

/// A filter that these requests go by.
pub(in crate::render) fn skipped_by(
    requests: Predicate,
    filter: TypedExtensionConfig,
) -> ExtensionWithMatcher {
    let skip = OnMatch {
        on_match: Some(Then::Action(xds_extension("skip", SkipFilter {}))),
        ..OnMatch::default()
    };
    ExtensionWithMatcher {
        xds_matcher: Some(only(requests, skip)),
        extension_config: Some(filter),
        ..ExtensionWithMatcher::default()
    }
}

/// A filter that requests go by, unless they ask for another protocol.
pub(in crate::render) fn skipped_by_others(filter: TypedExtensionConfig) -> ExtensionWithMatcher {
    skipped_by(not(has("upgrade", &asked())), filter)
}

/// For everything but a handshake.
pub(super) fn unless_handshake(then: OnMatch) -> Matcher {
    only(not(handshake()), then)
}

/// For a handshake, and for everything else.
pub(super) fn handshake_or_else(spared: OnMatch, usual: OnMatch) -> Matcher {
    Matcher {
        on_no_match: Some(Box::new(usual)),
        ..only(handshake(), spared)
    }
}

fn only(predicate: Predicate, then: OnMatch) -> Matcher {
    let only = FieldMatcher {
        predicate: Some(predicate),
        on_match: Some(then),
    };
    let list = MatcherType::MatcherList(MatcherList {
        matchers: vec![only],
    });
    Matcher {
        matcher_type: Some(list),
        ..Matcher::default()
    }
}

/// Envoy takes the `Transfer-Encoding` of upgraded requests away, so a `GET` has no body unless it says so, and a `POST` has one
/// unless it says not.
fn handshake() -> Predicate {
    let get = both(
        has(":method", "GET"),
        not(has("content-length", SOME_LENGTH)),
    );
    let post = both(has(":method", "POST"), has("content-length", NO_LENGTH));
    let no_body = MatchType::OrMatcher(PredicateList {
        predicate: vec![get, post],
    });
    let no_body = Predicate {
        match_type: Some(no_body),
    };
    both(has("upgrade", &asked()), no_body)
}

/// A pattern of [`PROTOCOLS`].
pub(in crate::render) fn asked() -> String {
    let names = PROTOCOLS.map(sluice_pattern::escape);
    format!("(?i)(?:{})", names.join("|"))
}

pub(in crate::render) fn both(one: Predicate, other: Predicate) -> Predicate {
    Predicate {
        match_type: Some(MatchType::AndMatcher(PredicateList {
            predicate: vec![one, other],
        })),
    }
}

pub(in crate::render) fn not(predicate: Predicate) -> Predicate {
    Predicate {
        match_type: Some(MatchType::NotMatcher(Box::new(predicate))),
    }
}

/// A header that is there, and whose whole value matches.
pub(in crate::render) fn has(header: &str, regex: &str) -> Predicate {
    let input = HttpRequestHeaderMatchInput {
        header_name: header.to_owned(),
    };
    let input = xds_extension(header, input);
    let regex = RegexMatcher {
        regex: regex.to_owned(),
        engine_type: Some(EngineType::GoogleRe2(GoogleRe2 {})),
    };
    let pattern = StringMatcher {
        match_pattern: Some(MatchPattern::SafeRegex(regex)),
        ..StringMatcher::default()
    };
    let single = SinglePredicate {
        input: Some(input),
        matcher: Some(Matched::ValueMatch(pattern)),
    };
    Predicate {
        match_type: Some(MatchType::SinglePredicate(single)),
    }
}
