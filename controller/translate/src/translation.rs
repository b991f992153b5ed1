//! The result of a translation, and how to bring it up to date when only endpoints moved.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Action, Backend, BackendId, Config, Edge, ErrorRequest, LocationId};

use crate::annotations::Context;
use crate::backends::{Registry, resolve};
use crate::global::Globals;
use crate::secrets::Secrets;
use crate::servers::{self, Assembled, ErrorService};
use crate::{ObjectKey, Options, Report, Resources};

/// What there is to serve, and what could not be honoured.
#[derive(Clone, Debug, Default)]
pub struct Translation {
    config: Config,
    routing_reports: Vec<Report>,
    backend_reports: BTreeMap<BackendId, Vec<Report>>,
    registry: Registry,
    by_service: BTreeMap<ObjectKey, BTreeSet<BackendId>>,
    /// Backends of which it matters whether they have any endpoint at all.
    watched: BTreeSet<BackendId>,
}

/// Translates everything. Pure and total.
#[must_use]
pub fn translate(resources: &Resources, options: &Options) -> Translation {
    let mut translation = Translation::default();
    let Translation { config, routing_reports, registry, .. } = &mut translation;
    let globals = Globals::of(resources, options, routing_reports);
    config.edge = Edge { largest_body: globals.largest_body, ..globals.edge.clone() };
    let context = Context { resources, options, globals: &globals };
    let mut secrets = Secrets::default();
    let Assembled { servers, error_services } =
        servers::assemble(context, registry, &mut secrets, routing_reports);
    config.servers = servers;
    config.secrets = secrets.values;
    translation.by_service = translation.registry.by_service();
    let all: Vec<BackendId> = translation.registry.iter().map(|(id, _)| id.clone()).collect();
    for id in all {
        translation.refresh_backend(&id, resources, options);
    }
    translation.ask_error_services(&error_services);
    translation
}

impl Translation {
    /// What there is to serve.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What could not be honoured, in a stable order.
    #[must_use]
    pub fn reports(&self) -> Vec<&Report> {
        let mut all: Vec<&Report> =
            self.routing_reports.iter().chain(self.backend_reports.values().flatten()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The backends that a Service stands behind.
    pub fn backends_of(&self, service: &ObjectKey) -> impl Iterator<Item = &BackendId> {
        self.by_service.get(service).into_iter().flatten()
    }

    /// Brings the backends of these Services up to date and names those that changed. The same as translating
    /// everything again, at the cost of what changed. `None`: nothing is done, because where requests go changes, too,
    /// and everything has to be translated again.
    pub fn refresh_endpoints<'a>(
        &mut self,
        services: impl IntoIterator<Item = &'a ObjectKey>,
        resources: &Resources,
        options: &Options,
    ) -> Option<BTreeSet<BackendId>> {
        let services: Vec<&ObjectKey> = services.into_iter().collect();
        if services.iter().any(|service| self.moves_requests(service, resources, options)) {
            return None;
        }
        let mut changed = BTreeSet::new();
        for service in services {
            for id in self.by_service.get(service).cloned().unwrap_or_default() {
                if self.refresh_backend(&id, resources, options) {
                    changed.insert(id);
                }
            }
        }
        Some(changed)
    }

    /// Whether a backend that has an error service behind it, or that is one, gets its first endpoint or loses its last.
    fn moves_requests(&self, service: &ObjectKey, resources: &Resources, options: &Options) -> bool {
        let watched = self.backends_of(service).filter(|id| self.watched.contains(*id));
        watched.into_iter().any(|id| {
            let now = self.registry.source(id).map(|source| resolve(source, resources, options).0);
            now.is_some_and(|now| is_dead(&now) != self.config.backends.get(id).is_none_or(is_dead))
        })
    }

    /// Locations whose pods are missing lead to their error service, if that has any.
    fn ask_error_services(&mut self, services: &BTreeMap<LocationId, ErrorService>) {
        let Config { servers, backends, .. } = &mut self.config;
        let is_dead = |id: &BackendId| backends.get(id).is_none_or(is_dead);
        for location in servers.values_mut().flat_map(|server| &mut server.locations) {
            let Some(ErrorService { backend, place }) = services.get(&location.id) else { continue };
            let Action::Forward(main) = &location.action else { continue };
            self.watched.extend([main.clone(), backend.clone()]);
            if is_dead(main) && !is_dead(backend) {
                location.action = Action::Forward(backend.clone());
                location.for_https = None;
                location.error = Some(ErrorRequest { status: 503, place: place.clone() });
            }
        }
    }

    fn refresh_backend(&mut self, id: &BackendId, resources: &Resources, options: &Options) -> bool {
        let Some(source) = self.registry.source(id) else { return false };
        let (backend, reports) = resolve(source, resources, options);
        if reports.is_empty() {
            self.backend_reports.remove(id);
        } else {
            self.backend_reports.insert(id.clone(), reports);
        }
        if self.config.backends.get(id) == Some(&backend) {
            return false;
        }
        self.config.backends.insert(id.clone(), backend);
        true
    }
}

/// Nobody would answer.
fn is_dead(backend: &Backend) -> bool {
    backend.endpoints.is_empty() && backend.outside.is_none()
}
