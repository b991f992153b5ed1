//! Memory from one publication of routing to the next, so that it costs what has changed.

use crate::publication::{HttpsCache, ManagerNames};
use crate::render::RouteCache;

/// Resources as they were rendered last.
#[derive(Clone, Debug, Default)]
pub struct RoutingCache {
    /// Routes of hosts.
    pub routes: RouteCache,
    pub(crate) https: HttpsCache,
    pub(crate) managers: ManagerNames,
}
