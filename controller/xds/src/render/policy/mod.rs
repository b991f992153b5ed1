//! What a location asks of a request before it goes anywhere: one small filter for each, in a chain of its own.
//!
//! Envoy's `filter_chain` filter holds the chain of the route, so a location that asks for nothing costs nothing, and a
//! new kind of policy does not change the listener. The order is nginx's: limits, addresses, passwords.

pub(super) mod access;
mod cookies;
mod errors;
mod guard;
mod late;
mod limits;

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::extensions::filters::http::body_size_limit::v3::BodySizeLimit;
use envoy_types::pb::envoy::extensions::filters::http::filter_chain::v3::{
    FilterChain, FilterChainConfig, FilterChainConfigPerRoute,
};
use envoy_types::pb::google::protobuf::{Any, UInt64Value};
use sluice_ir::{Guard, Location, Policy};

use super::wire::{any, extension};
pub(super) use late::{late, late_per_route};

/// The filter with the policies of a route.
pub(super) const POLICY: &str = "sluice.policy";
/// In its chain: what limits bodies. A route's own takes the place of the listener's.
const LIMIT: &str = "limit";

/// For the listener: what holds where no route says something.
pub(super) fn usual(largest_body: Option<u64>) -> FilterChainConfig {
    chain(vec![limit(largest_body)])
}

/// For WebSockets: what a client says on one is no body, so its length is not limited.
pub(super) fn without_limit() -> FilterChainConfig {
    FilterChainConfig::default()
}

fn chain(filters: Vec<TypedExtensionConfig>) -> FilterChainConfig {
    FilterChainConfig { default_filter_chain: Some(FilterChain { filters }) }
}

/// Whether a location has a limit of its own, which WebSockets must be spared.
pub(super) fn has_own_limit(policy: &Policy, usual_body: Option<u64>) -> bool {
    policy.largest_body != usual_body && policy.largest_body.is_some()
}

/// What a route says, beside what holds for all.
pub(super) fn per_route(
    location: &Location,
    usual_body: Option<u64>,
    is_websocket: bool,
) -> HashMap<String, Any> {
    let policy = &location.policy;
    // First, so that what the others answer is an error, too.
    let pages = location.error_pages.as_ref().filter(|_| !is_websocket);
    let mut filters: Vec<_> =
        pages.into_iter().flat_map(|pages| errors::filters(&location.id, pages)).collect();
    if policy.largest_body != usual_body && !is_websocket {
        filters.push(limit(policy.largest_body));
    }
    filters.extend(policy.rate.filter(|_| !is_websocket).map(limits::rate));
    filters.extend(policy.limits.as_ref().filter(|limits| limits.has_rates()).map(limits::limits));
    filters.extend(guards(policy));
    if filters.is_empty() {
        return HashMap::new();
    }
    let chain = FilterChainConfigPerRoute { filter_chain: Some(FilterChain { filters }) };
    any(chain).map(|chain| (POLICY.to_owned(), chain)).into_iter().collect()
}

/// Where one thing is enough, whoever looks at passwords looks at addresses, too.
fn guards(policy: &Policy) -> Vec<TypedExtensionConfig> {
    match &policy.guard {
        Some(guard) if guard.any => of_guard(guard),
        Some(guard) => access::filters(&policy.access).into_iter().chain(of_guard(guard)).collect(),
        None => access::filters(&policy.access),
    }
}

fn of_guard(guard: &Guard) -> Vec<TypedExtensionConfig> {
    let has_cookies = guard.question.as_ref().is_some_and(|question| !question.always_cookies);
    has_cookies.then(cookies::filter).into_iter().chain([guard::filter()]).collect()
}

fn limit(largest: Option<u64>) -> TypedExtensionConfig {
    let largest = UInt64Value { value: largest.unwrap_or(u64::MAX) };
    extension(LIMIT, BodySizeLimit { max_request_bytes: Some(largest) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{Action, PathMatch, ServerName};

    use super::*;

    fn location(policy: Policy) -> Location {
        Location::new(&ServerName::CatchAll, PathMatch::Prefix("/".into()), Action::Denied, Arc::new(policy))
    }

    #[test]
    fn a_location_that_asks_for_nothing_has_no_chain() {
        const USUAL: Option<u64> = Some(1 << 20);
        assert!(per_route(&location(Policy::default()), USUAL, false).is_empty());
        let large = location(Policy { largest_body: Some(8 << 20), ..Policy::default() });
        assert_eq!(per_route(&large, USUAL, false).len(), 1);
        assert!(per_route(&large, USUAL, true).is_empty() && has_own_limit(&large.policy, USUAL));
        assert!(!has_own_limit(&Policy { largest_body: None, ..Policy::default() }, USUAL));
    }
}
