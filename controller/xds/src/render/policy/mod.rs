//! Policies of a route, before a request is proxied: one small filter for each, in a chain of its own.
//!
//! Envoy's `filter_chain` filter holds the chain of the route, so a route that asks for nothing costs nothing, and a
//! new kind of policy does not change the listener. The order is nginx's: firewall, limits, addresses, passwords.

pub(super) mod access;
pub(super) mod captured;
mod composite;
mod cookies;
mod errors;
mod ext_authz;
mod firewall;
mod limits;
pub(super) mod target;
pub(super) mod upgrades;

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::extensions::filters::http::body_size_limit::v3::BodySizeLimit;
use envoy_types::pb::envoy::extensions::filters::http::filter_chain::v3::{
    FilterChain, FilterChainConfig, FilterChainConfigPerRoute,
};
use envoy_types::pb::google::protobuf::{Any, UInt64Value};
use sluice_ir::{Authentication, ClientLimits, DirectResponse, GlobalConfig, HttpRoute, Policy};

use super::LOOKUP_FILTER;
use super::proto::{any, extension, switched_on};
pub(super) use composite::{composite, composite_chain, composites_per_route, firewall_composite};
pub(super) use ext_authz::telling_certificate;
pub(super) use firewall::inspected_body;
pub(super) use target::STATE as TARGET;

/// The filter with the policies of a route.
pub(super) const POLICY: &str = "sluice.policy";
/// The same policies, for a request whose route is found late. Where hosts have scopes, [`POLICY`] is so for all.
pub(super) const COMPOSITE: &str = "sluice.policy.late";
/// The firewall of a route, where it is not in the chain of its policies.
pub(super) const FIREWALL: &str = "sluice.firewall";
/// In its chain: what limits bodies. A route's own takes the place of the listener's.
const LIMIT: &str = "limit";

/// For the listener: what holds where no route says something.
pub(super) fn usual(largest_body: Option<u64>) -> FilterChainConfig {
    let limit = extension(LIMIT, upgrades::skipped_by_handshake(limit(largest_body)));
    FilterChainConfig {
        default_filter_chain: Some(FilterChain {
            filters: vec![limit],
        }),
    }
}

/// For a route whose request goes on to another: that one's limit holds.
pub(super) fn without_limit() -> Option<Any> {
    let filters = vec![limit(None)];
    any(FilterChainConfigPerRoute {
        filter_chain: Some(FilterChain { filters }),
    })
}

/// True if a route has a body limit of its own, which the handshakes of WebSockets must be spared.
pub(super) fn has_own_limit(policy: &Policy, usual_body: Option<u64>) -> bool {
    policy.max_body_size != usual_body && policy.max_body_size.is_some()
}

/// Filter configuration of a route. A filter takes the place of the one of the listener that has its name.
pub(super) fn per_route(
    http_route: &HttpRoute,
    global: &GlobalConfig,
    is_handshake: bool,
) -> HashMap<String, Any> {
    let (policy, usual_body) = (&http_route.policy, global.max_body_size);
    // First, so that what the others answer is an error, too.
    let mut filters = error_pages(http_route, global);
    if policy.max_body_size != usual_body && !is_handshake {
        filters.push(limit(policy.max_body_size));
    }
    filters.extend(firewall::filter(policy, global));
    filters.extend(captured::filters(http_route));
    filters.extend(target::filter(http_route));
    filters.extend(policy.bandwidth_limit.map(limits::rate));
    let limits = policy.limits.as_ref().filter(|_| is_counted(policy));
    filters.extend(limits.map(limits::limits));
    filters.extend(access_control(policy));
    let counted = is_counted(policy).then(switched_on).flatten();
    let counted = counted.map(|lookup| (LOOKUP_FILTER.to_owned(), lookup));
    chain_of(filters).into_iter().chain(counted).collect()
}

/// For a redirect by a location, which refuses a body before if its length is stated.
pub(super) fn of_redirect(policy: &Policy, global: &GlobalConfig) -> Option<(String, Any)> {
    let own = policy.max_body_size != global.max_body_size;
    let limit = own.then(|| limit(policy.max_body_size));
    let filters = limit.into_iter().chain(firewall::filter(policy, global));
    chain_of(filters.collect())
}

/// For an answer of the data plane's own, which the firewall is in front of, too.
pub(super) fn of_answer(policy: &Policy, global: &GlobalConfig) -> Option<(String, Any)> {
    chain_of(firewall::filter(policy, global).into_iter().collect())
}

/// For a direct response, if the route has a page in its place.
pub(super) fn of_replaced(
    direct: &DirectResponse,
    http_route: &HttpRoute,
    global: &GlobalConfig,
) -> Option<(String, Any)> {
    let pages = http_route.error_pages.as_ref()?;
    if !errors::replaces(pages, direct) {
        return None;
    }
    let mut filters = error_pages(http_route, global);
    filters.extend(firewall::filter(&http_route.policy, global));
    chain_of(filters)
}

fn error_pages(http_route: &HttpRoute, global: &GlobalConfig) -> Vec<TypedExtensionConfig> {
    let HttpRoute { id, policy, .. } = http_route;
    let pages = http_route.error_pages.iter();
    let of = (id, http_route.signs_in_again());
    pages
        .flat_map(|pages| errors::filters(of, pages, &policy.auth_headers, &global.forwarded))
        .collect()
}

fn chain_of(filters: Vec<TypedExtensionConfig>) -> Option<(String, Any)> {
    let chain = FilterChainConfigPerRoute {
        filter_chain: (!filters.is_empty()).then_some(FilterChain { filters }),
    };
    chain.filter_chain.as_ref()?;
    Some((POLICY.to_owned(), any(chain)?))
}

/// True if the filter counts requests of a route before its policies.
fn is_counted(policy: &Policy) -> bool {
    policy.limits.as_ref().is_some_and(ClientLimits::has_rates)
}

/// IP lists of a route. With `satisfy any` the authorization server checks addresses, too.
fn access_control(policy: &Policy) -> Vec<TypedExtensionConfig> {
    match &policy.authentication {
        Some(authentication) if authentication.satisfy_any => of_authentication(authentication),
        Some(authentication) => access::filters(&policy.ip_access)
            .into_iter()
            .chain(of_authentication(authentication))
            .collect(),
        None => access::filters(&policy.ip_access),
    }
}

fn of_authentication(authentication: &Authentication) -> Vec<TypedExtensionConfig> {
    let has_cookies = authentication
        .external
        .as_ref()
        .is_some_and(|question| !question.always_set_cookie);
    has_cookies
        .then(cookies::filter)
        .into_iter()
        .chain([ext_authz::filter()])
        .collect()
}

fn limit(largest: Option<u64>) -> TypedExtensionConfig {
    let largest = UInt64Value {
        value: largest.unwrap_or(u64::MAX),
    };
    extension(
        LIMIT,
        BodySizeLimit {
            max_request_bytes: Some(largest),
        },
    )
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::Arc;

    use prost::Message;
    use sluice_ir::{Action, Cidr, ErrorPages, IpAccess, PathMatch, Rate, ServerName, Waf};

    use super::*;

    fn http_route(policy: Policy) -> HttpRoute {
        HttpRoute::new(
            &ServerName::CatchAll,
            PathMatch::Prefix("/".into()),
            Action::Denied,
            Arc::new(policy),
        )
    }

    /// Everything that a route can ask for.
    fn all() -> HttpRoute {
        let limits = ClientLimits {
            per_second: Some(Rate {
                requests: NonZeroU32::MIN,
                burst: 1,
            }),
            ..ClientLimits::default()
        };
        let network = Cidr::new("10.0.0.0".parse().unwrap(), 8).unwrap();
        let policy = Policy {
            max_body_size: Some(8 << 20),
            bandwidth_limit: Some(NonZeroU32::MIN),
            limits: Some(limits),
            ip_access: IpAccess {
                allow: vec![network],
                deny: vec![network],
            },
            authentication: Some(Authentication::default()),
            waf: Some(Waf::default()),
            ..Policy::default()
        };
        let pages = ErrorPages {
            keeps_upstreams: false,
            statuses: [503].into(),
            backend: None,
            headers: Vec::new(),
        };
        HttpRoute {
            error_pages: Some(Box::new(pages)),
            ..http_route(policy)
        }
    }

    fn usual() -> GlobalConfig {
        GlobalConfig {
            max_body_size: Some(1 << 20),
            ..GlobalConfig::default()
        }
    }

    fn names(http_route: &HttpRoute, is_handshake: bool) -> Vec<String> {
        let chain = per_route(http_route, &usual(), is_handshake)
            .remove(POLICY)
            .unwrap();
        let chain = FilterChainConfigPerRoute::decode(chain.value.as_slice()).unwrap();
        chain
            .filter_chain
            .unwrap()
            .filters
            .into_iter()
            .map(|filter| filter.name)
            .collect()
    }

    #[test]
    fn an_upgrade_takes_no_policy_away_but_the_limit_of_bodies_from_a_handshake() {
        let (usual, spared) = (names(&all(), false), names(&all(), true));
        assert_eq!(
            usual,
            [
                "errors",
                LIMIT,
                "firewall",
                "rate",
                "limits",
                "deny",
                "allow",
                "ext_authz"
            ]
        );
        assert_eq!(
            spared,
            usual
                .into_iter()
                .filter(|name| name != LIMIT)
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_route_that_asks_for_nothing_has_no_chain() {
        let usual = usual();
        assert!(per_route(&http_route(Policy::default()), &usual, false).is_empty());
        assert_eq!(of_answer(&Policy::default(), &usual), None);
        let large = http_route(Policy {
            max_body_size: Some(8 << 20),
            ..Policy::default()
        });
        let usual_body = usual.max_body_size;
        assert_eq!(per_route(&large, &usual, false).len(), 1);
        assert!(per_route(&large, &usual, true).is_empty());
        assert!(has_own_limit(&large.policy, usual_body));
        assert!(!has_own_limit(
            &Policy {
                max_body_size: None,
                ..Policy::default()
            },
            usual_body
        ));
    }
}
