//! Hosts that the renderer of nginx closes for their settings, which the translation serves all data planes.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Forwarded, ReasonCode, RouteId, ServerName};
use sluice_translate::{
    DataPlane, Kind, ObjectKey, ObjectRef, Options, Report, Severity, Snapshot,
};

/// Routes that answer 503.
#[derive(Default)]
pub(crate) struct ClosedRoutes(BTreeMap<RouteId, ObjectKey>);

impl ClosedRoutes {
    pub(crate) fn new(snapshot: &Snapshot, options: &Options) -> Self {
        let config = snapshot.config();
        if options.data_plane != Some(DataPlane::Nginx)
            || !config.global.forwarded.has_two_addresses()
        {
            return ClosedRoutes::default();
        }
        let hosts = config.passthrough.keys().cloned().map(ServerName::Exact);
        let servers = hosts.filter_map(|host| config.servers.get(&host));
        let routes = servers.flat_map(|server| &server.routes);
        let owned =
            routes.filter_map(|route| Some((route.id.clone(), snapshot.owner(&route.id)?.clone())));
        ClosedRoutes(owned.collect())
    }

    pub(crate) fn contains(&self, route: &RouteId) -> bool {
        self.0.contains_key(route)
    }

    /// Says so to each Ingress that has one of them.
    pub(crate) fn reports(&self) -> Vec<Report> {
        let ingresses: BTreeSet<&ObjectKey> = self.0.values().collect();
        let report = |key: &ObjectKey| {
            let object = ObjectRef {
                kind: Kind::Ingress,
                key: key.clone(),
            };
            Report::new(
                object,
                ReasonCode::Unsupported,
                Severity::Error,
                "annotation ssl-passthrough",
                format!(
                    "{}: not served by the nginx data plane",
                    Forwarded::PASSTHROUGH_BESIDE_HEADERS
                ),
                "affected paths answer 503",
            )
        };
        ingresses.into_iter().map(report).collect()
    }
}
