//! Memory from one publication of routing to the next, so that it costs what has changed.

use super::https::HttpsCache;
use crate::render::RouteCache;

/// Resources as they were rendered last.
#[derive(Clone, Debug, Default)]
pub struct RoutingCache {
    /// Routes of hosts.
    pub routes: RouteCache,
    pub(super) https: HttpsCache,
}
