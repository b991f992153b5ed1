//! The part of a configuration that each request needs.

use sluice_envoy_abi::Counter;

/// Settings of a filter.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) is_before_lookup: bool,
    pub(crate) unknown_routes: Option<Counter>,
}
