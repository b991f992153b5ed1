//! IP allow and deny lists.

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::rbac::v3::rbac::Action;
use envoy_types::pb::envoy::config::rbac::v3::{
    Action as NamedAction, Permission, Policy, Principal, Rbac as Rules, permission, principal,
};
use envoy_types::pb::envoy::config::route::v3::HeaderMatcher;
use envoy_types::pb::envoy::extensions::filters::http::rbac::v3::Rbac;
use envoy_types::pb::envoy::extensions::matching::common_inputs::network::v3::SourceIpInput;
use envoy_types::pb::envoy::extensions::matching::input_matchers::ip::v3::Ip;
use envoy_types::pb::xds::r#type::matcher::v3::Matcher;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::single_predicate::Matcher as Matched;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::{
    MatchType, SinglePredicate,
};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::{FieldMatcher, Predicate};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::{MatcherList, MatcherType, OnMatch};
use sluice_ir::{Blocked, Cidr, IpAccess, TextMatch};
use sluice_pattern::Subject;

use crate::render::proto::{address_ranges, extension, xds_extension};
use crate::render::route::matching::{is_in_any_case, matches};

/// Denied addresses come first.
pub(super) fn filters(access: &IpAccess) -> Vec<TypedExtensionConfig> {
    let list = |name, cidrs: &[Cidr], inside, outside| {
        (!cidrs.is_empty()).then(|| extension(name, by_address(name, cidrs, inside, outside)))
    };
    let deny = list("deny", &access.deny, Action::Deny, Action::Allow);
    let allow = list("allow", &access.allow, Action::Allow, Action::Deny);
    deny.into_iter().chain(allow).collect()
}

/// One trie for the whole list: each address as a principal of its own takes Envoy a kilobyte, and a comparison per request.
fn by_address(name: &str, cidrs: &[Cidr], inside: Action, outside: Action) -> Rbac {
    let addresses = Ip {
        cidr_ranges: address_ranges(cidrs),
        stat_prefix: name.to_owned(),
    };
    let is_inside = SinglePredicate {
        input: Some(xds_extension("client", SourceIpInput {})),
        matcher: Some(Matched::CustomMatch(xds_extension("addresses", addresses))),
    };
    let then = |action: Action| OnMatch {
        on_match: Some(Then::Action(xds_extension(
            "action",
            NamedAction {
                name: name.to_owned(),
                action: action.into(),
            },
        ))),
        ..OnMatch::default()
    };
    let list = MatcherList {
        matchers: vec![FieldMatcher {
            predicate: Some(Predicate {
                match_type: Some(MatchType::SinglePredicate(is_inside)),
            }),
            on_match: Some(then(inside)),
        }],
    };
    let matcher = Matcher {
        matcher_type: Some(MatcherType::MatcherList(list)),
        on_no_match: Some(Box::new(then(outside))),
    };
    Rbac {
        matcher: Some(matcher),
        ..Rbac::default()
    }
}

/// For all hosts; `None` when no client is blocked.
pub(in crate::render) fn blocked(blocked: &Blocked) -> Option<Rbac> {
    let by_header = |name: &'static str, texts: &[TextMatch]| {
        let texts: Vec<_> = texts.iter().map(|text| by_text(name, text)).collect();
        texts.into_iter().map(principal::Identifier::Header)
    };
    let addresses = address_ranges(&blocked.addresses)
        .into_iter()
        .map(principal::Identifier::RemoteIp);
    let agents = by_header("user-agent", &blocked.user_agents);
    let all: Vec<_> = addresses
        .chain(agents)
        .chain(by_header("referer", &blocked.referers))
        .collect();
    (!all.is_empty()).then(|| denying("blocked", all))
}

fn by_text(name: &str, text: &TextMatch) -> HeaderMatcher {
    let found = |pattern, subject| matches(name, &sluice_pattern::re2(pattern, subject, false));
    match text {
        TextMatch::ExactIgnoreCase(text) => is_in_any_case(name, text),
        TextMatch::Regex(pattern) => found(pattern, Subject::Text),
        TextMatch::RegexIgnoreCase(pattern) => found(pattern, Subject::TextInAnyCase),
    }
}

fn denying(name: &str, who: Vec<principal::Identifier>) -> Rbac {
    let principals = who
        .into_iter()
        .map(|identifier| Principal {
            identifier: Some(identifier),
        })
        .collect();
    let anything = Permission {
        rule: Some(permission::Rule::Any(true)),
    };
    let policy = Policy {
        permissions: vec![anything],
        principals,
        ..Policy::default()
    };
    let rules = Rules {
        action: Action::Deny.into(),
        policies: [(name.to_owned(), policy)].into(),
        ..Rules::default()
    };
    Rbac {
        rules: Some(rules),
        ..Rbac::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_denied_is_denied_before_anybody_is_allowed() {
        let network = Cidr::new("10.0.0.0".parse().unwrap(), 8).unwrap();
        let names = |access: &IpAccess| {
            filters(access)
                .into_iter()
                .map(|filter| filter.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(&IpAccess {
                allow: vec![network],
                deny: vec![network]
            }),
            ["deny", "allow"]
        );
        assert!(names(&IpAccess::default()).is_empty());
    }
}
