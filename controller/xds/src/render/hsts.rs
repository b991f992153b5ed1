//! `Strict-Transport-Security`, on responses over https.
//!
//! A filter sets it after the routes have set their headers, so a route that sets another one says so to the filter.

use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{
    HeaderMutation, HeaderMutationPerRoute, Mutations,
};
use envoy_types::pb::google::protobuf::Any;
use sluice_ir::{HeaderChange, Hsts};

use super::header::{append, set};
use super::proto::any;
use super::response_format::format;

/// Name of the filter.
pub(super) const FILTER: &str = "sluice.hsts";
/// Name of the header.
pub(super) const HEADER: &str = "strict-transport-security";

/// The filter of a listener.
pub(super) fn of_all(hsts: &Hsts) -> HeaderMutation {
    HeaderMutation {
        mutations: Some(mutations(&hsts.value())),
        ..HeaderMutation::default()
    }
}

/// The filter on a route that changes the header. What a route says comes last.
pub(super) fn on_route(change: &HeaderChange) -> Option<Any> {
    let value = change.values.last()?;
    any(HeaderMutationPerRoute {
        mutations: Some(mutations(&format(&value.value))),
    })
}

fn mutations(value: &str) -> Mutations {
    Mutations {
        response_mutations: vec![append(set(HEADER, value))],
        ..Mutations::default()
    }
}
