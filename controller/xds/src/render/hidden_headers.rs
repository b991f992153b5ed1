//! Response headers of pods that clients never see.
//!
//! Routes remove them. But to a pod that refuses a WebSocket with a status below 400, Envoy answers itself, and copies the pod's
//! headers behind the back of the route (1.40: upstream_codec_filter.cc); so such requests have a filter that removes them again.
//!
//! The same filter writes their `Connection`, which Envoy passes on as a client has sent it (conn_manager_utility.cc): a pod that is a
//! proxy takes every header away that is named there, also those that Sluice has set.

use envoy_types::pb::envoy::extensions::common::matching::v3::ExtensionWithMatcher;
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{
    HeaderMutation, Mutations,
};
use sluice_ir::{GlobalConfig, HeaderName};

use super::header::{append, remove, set};
use super::policy::upgrades;
use super::proto::extension;

/// Headers with which pods instruct nginx.
const INSTRUCTIONS: [&str; 5] = [
    "x-accel-buffering",
    "x-accel-charset",
    "x-accel-expires",
    "x-accel-limit-rate",
    "x-accel-redirect",
];

/// Their names.
pub(super) fn names(global: &GlobalConfig) -> impl Iterator<Item = &str> {
    let own = global.hidden_headers.iter().map(HeaderName::as_str);
    own.chain(INSTRUCTIONS)
}

/// The filter of upgrades. What the operator sets in responses under the same name stays.
pub(super) fn of_upgrades(global: &GlobalConfig) -> ExtensionWithMatcher {
    let is_set = |name: &&str| {
        let mut set = global.response_headers.iter();
        set.any(|header| header.name.as_str().eq_ignore_ascii_case(name))
    };
    let mutations = Mutations {
        response_mutations: names(global)
            .filter(|name| !is_set(name))
            .map(remove)
            .collect(),
        // As in nginx. What a route says under this name comes after it.
        request_mutations: vec![append(set("connection", "upgrade"))],
        ..Mutations::default()
    };
    let mutation = HeaderMutation {
        mutations: Some(mutations),
        ..HeaderMutation::default()
    };
    upgrades::skipped_by_others(extension("envoy.filters.http.header_mutation", mutation))
}
