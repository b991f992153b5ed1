//! One route of the data plane.

use std::rc::Rc;

use sluice_filter_config as wire;

use crate::canary::Canary;
use crate::connection_limit::ConnectionLimit;
use crate::rates::RateLimit;
use crate::rewriting::Rewriting;

/// Backend of a route, its canaries and limits.
#[derive(Debug)]
pub struct Route {
    /// The id of the primary backend.
    pub backend: Rc<str>,
    /// Those that take a part of it.
    pub canaries: Vec<Canary>,
    /// Sessions may begin here: the path of their cookie.
    pub session_path: Option<Rc<str>>,
    /// How many headers the canaries' rules read.
    pub headers: usize,
    /// How many requests of one client it serves at a time.
    pub connections: Option<ConnectionLimit>,
    /// How many requests of one client it serves in a time.
    pub rates: Option<RateLimit>,
    /// Replacements in responses.
    pub rewriting: Option<Rewriting>,
}

impl From<wire::Route> for Route {
    fn from(route: wire::Route) -> Self {
        let canaries: Vec<Canary> = Canary::from_routes(&route.canaries);
        Route {
            backend: route.backend.as_str().into(),
            headers: canaries.iter().map(|canary| canary.rules.headers()).sum(),
            canaries,
            session_path: route.session_path.map(|path| path.as_str().into()),
            connections: route.connections.map(ConnectionLimit::from),
            rates: route.rates.map(RateLimit::from),
            rewriting: route.rewriting.as_ref().map(Rewriting::from),
        }
    }
}
