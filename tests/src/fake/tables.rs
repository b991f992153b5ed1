//! Tables for a filter under test.

use std::collections::BTreeMap;

use sluice_filter_config::{self as wire, Tables, Version};

use super::filter::{BACKEND, ROUTE};

/// Tables with one route, `shop.example/`, and these endpoints behind it.
pub fn tables(content: u128, endpoints: &[&str]) -> Tables {
    let backends = [(BACKEND.to_owned(), backend(endpoints))].into();
    snapshot(content, wire::Route::to(BACKEND), backends)
}

/// Tables with this route, `shop.example/`.
pub fn snapshot(
    content: u128,
    route: wire::Route,
    backends: BTreeMap<String, wire::Backend>,
) -> Tables {
    let routes = [(ROUTE.to_owned(), route)].into();
    let version = Version::new(1, content);
    Tables::Snapshot(wire::Snapshot {
        version,
        routes,
        backends,
        hosts: [].into(),
    })
}

/// The change of that backend from one version to the next.
pub fn change(base: u128, content: u128, endpoints: &[&str]) -> Tables {
    Tables::Delta(wire::Delta {
        backends: [(BACKEND.to_owned(), backend(endpoints))].into(),
        ..wire::Delta::between(Version::new(1, base), Version::new(2, content))
    })
}

/// Three attempts, in turn.
pub fn backend(endpoints: &[&str]) -> wire::Backend {
    let endpoints = endpoints.iter().map(|a| wire::Endpoint::at(*a)).collect();
    let backend = wire::Backend::round_robin("ns-shop-80", endpoints);
    wire::Backend {
        attempts: std::num::NonZeroU8::new(3).unwrap(),
        ..backend
    }
}
