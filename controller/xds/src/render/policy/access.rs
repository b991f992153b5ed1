//! Addresses that may come in, and addresses that may not.

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::rbac::v3::rbac::Action;
use envoy_types::pb::envoy::config::rbac::v3::{
    Permission, Policy, Principal, Rbac as Rules, permission, principal,
};
use envoy_types::pb::envoy::config::route::v3::HeaderMatcher;
use envoy_types::pb::envoy::extensions::filters::http::rbac::v3::Rbac;
use sluice_ir::{Blocked, Cidr, IpAccess, TextMatch};
use sluice_pattern::Subject;

use crate::render::forwarded::range;
use crate::render::proto::extension;
use crate::render::route::matching::{is_in_any_case, matches};

/// Denied addresses come first.
pub(super) fn filters(access: &IpAccess) -> Vec<TypedExtensionConfig> {
    let deny = (!access.deny.is_empty()).then(|| filter("deny", Action::Deny, &access.deny));
    let allow = (!access.allow.is_empty()).then(|| filter("allow", Action::Allow, &access.allow));
    deny.into_iter().chain(allow).collect()
}

/// For all hosts; `None` when no client is blocked.
pub(in crate::render) fn blocked(blocked: &Blocked) -> Option<Rbac> {
    let by_header = |name: &'static str, texts: &[TextMatch]| {
        let texts: Vec<_> = texts.iter().map(|text| by_text(name, text)).collect();
        texts.into_iter().map(principal::Identifier::Header)
    };
    let addresses = blocked
        .addresses
        .iter()
        .map(|cidr| principal::Identifier::RemoteIp(range(*cidr)));
    let agents = by_header("user-agent", &blocked.user_agents);
    let all: Vec<_> = addresses
        .chain(agents)
        .chain(by_header("referer", &blocked.referers))
        .collect();
    (!all.is_empty()).then(|| rbac("blocked", Action::Deny, all))
}

fn by_text(name: &str, text: &TextMatch) -> HeaderMatcher {
    let found = |pattern, subject| matches(name, &sluice_pattern::re2(pattern, subject, false));
    match text {
        TextMatch::ExactIgnoreCase(text) => is_in_any_case(name, text),
        TextMatch::Regex(pattern) => found(pattern, Subject::Text),
        TextMatch::RegexIgnoreCase(pattern) => found(pattern, Subject::TextInAnyCase),
    }
}

fn filter(name: &str, action: Action, cidrs: &[Cidr]) -> TypedExtensionConfig {
    let cidrs = cidrs
        .iter()
        .map(|cidr| principal::Identifier::RemoteIp(range(*cidr)));
    extension(name, rbac(name, action, cidrs.collect()))
}

fn rbac(name: &str, action: Action, who: Vec<principal::Identifier>) -> Rbac {
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
    let policies = [(name.to_owned(), policy)].into();
    let rules = Rules {
        action: action.into(),
        policies,
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
