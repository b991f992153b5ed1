//! The same policies where a stream begins before its route is known.
//!
//! Envoy's `filter_chain` takes the chain of the route that there is when the stream begins. Where hosts have scopes that may
//! be none yet; there the `composite` filter takes it when the request comes by.
//!
//! A route's own matcher takes the place of the listener's, filters and all, so what holds for all is in both.
//!
//! **Nothing in such a chain may wait, but the last filter**: a `composite` goes on behind itself, and not with the next filter of
//! its chain. Authorization waits, and so does a firewall. So a firewall has a `composite` of its own, before that of the others:
//!
//! ```text
//!   sluice.firewall: errors, limit, firewall      sluice.policy: rate, limits, deny, allow, ext_authz
//! ```

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::extensions::filters::http::composite::v3::{
    Composite, CompositePerRoute, ExecuteFilterAction, FilterChainConfiguration,
};
use envoy_types::pb::envoy::extensions::filters::http::filter_chain::v3::{
    FilterChain, FilterChainConfig, FilterChainConfigPerRoute,
};
use envoy_types::pb::google::protobuf::Any;
use envoy_types::pb::xds::r#type::matcher::v3::Matcher;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::OnMatch;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use prost::Message;

use super::{COMPOSITE, FIREWALL, LIMIT, firewall, limit, upgrades};
use crate::render::proto::{any, extension, xds_extension};

/// For the listener.
pub(in crate::render) fn composite(largest_body: Option<u64>) -> Composite {
    let usual = running(vec![limit(largest_body)]);
    Composite {
        matcher: Some(upgrades::unless_handshake(usual)),
        ..Composite::default()
    }
}

/// Configuration of the two filters by a route.
pub(in crate::render) struct Composites {
    /// For [`super::FIREWALL`], where it has one.
    pub(in crate::render) firewall: Option<Any>,
    /// For the policies.
    pub(in crate::render) policies: Option<Any>,
}

/// For a route, from what it says where it is known from the beginning.
pub(in crate::render) fn composites_per_route(
    early: &Any,
    usual_body: Option<u64>,
) -> Option<Composites> {
    let early = FilterChainConfigPerRoute::decode(early.value.as_slice()).ok()?;
    let mut filters = early.filter_chain?.filters;
    if usual_body.is_some() && !filters.iter().any(is_limit) {
        filters.insert(0, limit(usual_body));
    }
    let firewall = filters.iter().position(|it| it.name == firewall::NAME);
    let mut rest = filters.split_off(firewall.map_or(0, |at| at + 1));
    if firewall.is_some() {
        // In the place of the listener's: the limit is before the firewall.
        rest.insert(0, limit(None));
    }
    Some(Composites {
        firewall: firewall.and_then(|_| per_route(filters)),
        policies: per_route(rest),
    })
}

fn per_route(filters: Vec<TypedExtensionConfig>) -> Option<Any> {
    let spared: Vec<_> = filters
        .iter()
        .filter(|filter| !is_limit(filter))
        .cloned()
        .collect();
    let matcher = if spared.len() == filters.len() {
        Matcher {
            on_no_match: Some(Box::new(running(filters))),
            ..Matcher::default()
        }
    } else if spared.is_empty() {
        upgrades::unless_handshake(running(filters))
    } else {
        upgrades::handshake_or_else(running(spared), running(filters))
    };
    any(CompositePerRoute {
        matcher: Some(matcher),
    })
}

/// For the listener, before the policies: does nothing where a route says nothing.
pub(in crate::render) fn firewall_composite() -> Composite {
    Composite::default()
}

/// For a listener that has these filters for few requests.
pub(in crate::render) fn composite_chain(composite: Composite) -> FilterChainConfig {
    FilterChainConfig {
        default_filter_chain: Some(FilterChain {
            filters: vec![
                extension(FIREWALL, firewall_composite()),
                extension(COMPOSITE, composite),
            ],
        }),
    }
}

fn is_limit(filter: &TypedExtensionConfig) -> bool {
    filter.name == LIMIT
}

fn running(filters: Vec<TypedExtensionConfig>) -> OnMatch {
    let chain = FilterChainConfiguration {
        typed_config: filters,
    };
    let action = ExecuteFilterAction {
        filter_chain: Some(chain),
        ..ExecuteFilterAction::default()
    };
    OnMatch {
        on_match: Some(Then::Action(xds_extension("policies", action))),
        ..OnMatch::default()
    }
}
