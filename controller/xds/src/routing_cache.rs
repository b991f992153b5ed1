//! What is remembered from one publication of routing to the next, so that it costs what has changed.

use crate::render::{RouteCache, TlsListenerCache};

/// Resources as they were rendered last.
#[derive(Clone, Debug, Default)]
pub struct RoutingCache {
    /// Routes of hosts.
    pub routes: RouteCache,
    pub(crate) tls_listener: TlsListenerCache,
}
