//! Snapshots of a translation, for readers. A snapshot never changes, shares data with the translation, and costs next to
//! nothing to make, so readers never wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{Canary, Config, HttpRoute, RouteId, ServerName, SharedMap};

use crate::{ObjectKey, Report, RouteOwner, Translation, ids};

/// The configuration, the owners of its routes and canaries, and the reports.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    config: Config,
    owners: SharedMap<RouteId, RouteOwner>,
    /// Few have any.
    canaries: Arc<[(ObjectKey, Canary)]>,
    reports: Arc<[Report]>,
}

impl<S> Translation<S> {
    /// The translation as it is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let reports = self.reports().into_iter().cloned().collect();
        Snapshot {
            config: self.config.clone(),
            owners: self.owners.clone(),
            canaries: self.registry.canary_owners().collect(),
            reports,
        }
    }
}

impl Snapshot {
    /// The configuration to serve.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Reports about what could not be honoured, in a stable order.
    #[must_use]
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// A route by its id, and the server that it is of.
    #[must_use]
    pub fn route(&self, id: &str) -> Option<(ServerName, &HttpRoute)> {
        let name = ids::server_of(id)?;
        let listeners = self.config.listeners.values();
        let route = std::iter::once(&self.config.servers)
            .chain(listeners.map(|listener| &listener.servers))
            .filter_map(|servers| servers.get(&name))
            .flat_map(|server| &server.routes)
            .find(|route| route.id.as_str() == id)?;
        Some((name, route))
    }

    /// Objects that have a route.
    #[must_use]
    pub fn owners(&self) -> BTreeSet<&ObjectKey> {
        self.owners.values().map(|owner| &owner.object).collect()
    }

    /// The object that a route is from; `None` for what flags and the generated root bring.
    #[must_use]
    pub fn owner(&self, route: &RouteId) -> Option<&ObjectKey> {
        self.route_owner(route).map(|owner| &owner.object)
    }

    /// [`Snapshot::owner`], with its text for the route.
    #[must_use]
    pub fn route_owner(&self, route: &RouteId) -> Option<&RouteOwner> {
        self.owners.get(route)
    }

    /// Canaries that objects ask for, those that do not come about among them. A canary has no route: it takes part in those of the
    /// backend that it is a canary of.
    #[must_use]
    pub fn canaries(&self) -> &[(ObjectKey, Canary)] {
        &self.canaries
    }
}
