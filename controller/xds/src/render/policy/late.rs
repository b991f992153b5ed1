//! The same policies where a stream begins before its route is known.
//!
//! Envoy's `filter_chain` takes the chain of the route that there is when the stream begins. Where hosts have scopes that may
//! be none yet; there the `composite` filter takes it when the request comes by.

use envoy_types::pb::envoy::extensions::filters::http::composite::v3::{
    Composite, CompositePerRoute, ExecuteFilterAction, FilterChainConfiguration,
};
use envoy_types::pb::envoy::extensions::filters::http::filter_chain::v3::{
    FilterChain, FilterChainConfig, FilterChainConfigPerRoute,
};
use envoy_types::pb::google::protobuf::Any;
use envoy_types::pb::xds::core::v3::TypedExtensionConfig as XdsExtension;
use envoy_types::pb::xds::r#type::matcher::v3::Matcher;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::OnMatch;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::on_match::OnMatch as Then;
use prost::Message;

use crate::render::wire::any;

/// For the listener.
pub(in crate::render) fn late(usual: FilterChainConfig) -> Composite {
    Composite { matcher: usual.default_filter_chain.map(always), ..Composite::default() }
}

/// For a route, from what it says where it is known from the beginning.
pub(in crate::render) fn late_per_route(early: &Any) -> Option<Any> {
    let early = FilterChainConfigPerRoute::decode(early.value.as_slice()).ok()?;
    any(CompositePerRoute { matcher: early.filter_chain.map(always) })
}

/// A matcher without anything to match.
fn always(chain: FilterChain) -> Matcher {
    let chain = FilterChainConfiguration { typed_config: chain.filters };
    let action = ExecuteFilterAction { filter_chain: Some(chain), ..ExecuteFilterAction::default() };
    let action = XdsExtension { name: "policies".to_owned(), typed_config: any(action) };
    let always = OnMatch { on_match: Some(Then::Action(action)), ..OnMatch::default() };
    Matcher { on_no_match: Some(Box::new(always)), ..Matcher::default() }
}
