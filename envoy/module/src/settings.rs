//! The part of a configuration that each request needs.

use sluice_envoy_abi::Counter;
use sluice_filter_config::host_contract::{Copies, FILTER, LOOKUP_FILTER};

/// Settings of a filter.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) role: Role,
    pub(crate) unknown_routes: Option<Counter>,
}

/// Place of a filter in the way of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Before Envoy looks for the route.
    Lookup,
    /// Behind the policies of the route.
    Choice,
    /// In the cluster of a mirror.
    Mirror(Copies),
}

impl Role {
    /// The place of the filter of this name; `None` if a newer controller has a filter that is not known here.
    pub(crate) fn of_filter(name: &str) -> Option<Role> {
        match name {
            FILTER => Some(Role::Choice),
            LOOKUP_FILTER => Some(Role::Lookup),
            _ => Copies::of_filter(name.as_bytes()).map(Role::Mirror),
        }
    }
}
