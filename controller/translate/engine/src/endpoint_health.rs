//! The health of a backend's endpoints, as active checks tell.

use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Health of the endpoints of a backend that asks for checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointHealth {
    /// Endpoints that fail their checks.
    pub unhealthy: BTreeSet<SocketAddr>,
    /// Number of endpoints that are not checked: their namespace has too many.
    pub unchecked: usize,
}
