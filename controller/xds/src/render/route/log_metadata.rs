//! Facts about a route for the access log.

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3::Metadata;
use envoy_types::pb::google::protobuf::{Struct, Value, value};
use sluice_ir::{BackendId, HttpRoute};

use crate::render::access_log::{LOG_METADATA, MAIN, UNLOGGED};

/// Metadata for the access log. `main`: the backend that gets what no canary takes.
pub(super) fn of_route(http_route: &HttpRoute, main: Option<&BackendId>) -> Option<Metadata> {
    let unlogged = http_route
        .policy
        .access_log_off
        .then_some((UNLOGGED, value::Kind::BoolValue(true)));
    // Without canaries it is the backend that was asked.
    let main = main
        .filter(|_| !http_route.canaries.is_empty())
        .map(|id| (MAIN, value::Kind::StringValue(id.as_str().to_owned())));
    let fields: HashMap<_, _> = unlogged
        .into_iter()
        .chain(main)
        .map(|(key, kind)| (key.to_owned(), Value { kind: Some(kind) }))
        .collect();
    (!fields.is_empty()).then(|| Metadata {
        filter_metadata: HashMap::from([(LOG_METADATA.to_owned(), Struct { fields })]),
        ..Metadata::default()
    })
}
