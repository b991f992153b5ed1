//! The result of a translation, and how to bring it up to date when only endpoints moved.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{
    Action, Backend, BackendId, Config, Edge, ErrorRequest, Location, LocationId, SecretId, ServerName,
};

use crate::annotations::Context;
use crate::backends::{Registry, resolve};
use crate::global::Globals;
use crate::report::Reporter;
use crate::secrets::Secrets;
use crate::servers::{self, Assembled, ErrorService, Owners};
use crate::streams::streams;
use crate::{Kind, ObjectKey, ObjectRef, Options, Report, Resources, Severity};

/// What there is to serve, and what could not be honoured.
#[derive(Clone, Debug, Default)]
pub struct Translation {
    config: Config,
    owners: Owners,
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
    let mut reports = Vec::new();
    let ingresses = servers::ours(resources, options, &mut reports);
    let mut translation = translate_these(ingresses, resources, options);
    translation.routing_reports.extend(reports);
    translation
}

/// Translates some Ingresses as if there were no others. They are ours, and in the order in which they are read.
pub(crate) fn translate_these<'a>(
    ingresses: impl IntoIterator<Item = &'a Ingress>,
    resources: &Resources,
    options: &Options,
) -> Translation {
    let mut translation = Translation::default();
    let Translation { config, owners, routing_reports, registry, .. } = &mut translation;
    let globals = Globals::of(resources, options, routing_reports);
    config.edge = Edge { largest_body: globals.largest_body, ..globals.edge.clone() };
    let context = Context { resources, options, globals: &globals };
    let mut secrets = Secrets::default();
    config.default_certificate = default_certificate(resources, options, &mut secrets, routing_reports);
    let assembled = servers::assemble(ingresses, context, registry, &mut secrets, routing_reports);
    let Assembled { servers, owners: of_locations, error_services, tls, passthrough } = assembled;
    (config.servers, config.tls, *owners) = (servers, tls, of_locations);
    config.passthrough = passthrough;
    config.streams = streams(resources, options, &globals, registry, routing_reports);
    config.secrets = secrets.values;
    config.users = secrets.users.into_iter().map(|(id, listed)| (id, listed.text)).collect();
    translation.by_service = translation.registry.by_service();
    let all: Vec<BackendId> = translation.registry.iter().map(|(id, _)| id.clone()).collect();
    for id in all {
        translation.refresh_backend(&id, resources, options);
    }
    translation.ask_error_services(&error_services);
    translation
}

/// The operator's, for hosts that have none of their own.
fn default_certificate(
    resources: &Resources,
    options: &Options,
    secrets: &mut Secrets,
    reports: &mut Vec<Report>,
) -> Option<SecretId> {
    let key = options.default_certificate.as_ref()?;
    let found = resources.secrets.get(key).ok_or_else(|| "expected a Secret, got none".to_owned());
    match found.and_then(|secret| secret.pair()) {
        Ok(pair) => Some(secrets.present(key, pair)),
        Err(reason) => {
            let object = ObjectRef { kind: Kind::Secret, key: key.clone() };
            let consequence = "a generated certificate is presented";
            let field = "--default-ssl-certificate";
            Reporter::new(object, reports).say(Severity::Error, field, reason, consequence);
            None
        }
    }
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

    /// What is wrong with the objects themselves; what is wrong behind them is left out.
    pub(crate) fn routing_reports(&self) -> &[Report] {
        &self.routing_reports
    }

    /// A location by its id.
    #[must_use]
    pub fn location(&self, id: &str) -> Option<&Location> {
        let (host, _) = id.split_at(id.find(['=', '~', '/'])?);
        let name = if host == "_" { ServerName::CatchAll } else { ServerName::parse(host).ok()? };
        self.config.servers.get(&name)?.locations.iter().find(|location| location.id.as_str() == id)
    }

    /// The Ingresses that have a location.
    #[must_use]
    pub fn owners(&self) -> BTreeSet<&ObjectKey> {
        self.owners.values().collect()
    }

    /// The Ingress that a location is from; `None` for what flags and the generated root bring.
    #[must_use]
    pub fn owner(&self, location: &LocationId) -> Option<&ObjectKey> {
        self.owners.get(location)
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
            let Some(ErrorService { backend, next, place }) = services.get(&location.id) else { continue };
            let Action::Forward(main) = &location.action else { continue };
            self.watched.extend([main.clone(), backend.clone()]);
            if is_dead(backend) {
                location.error_pages.iter_mut().for_each(|pages| pages.backend.clone_from(next));
            } else if is_dead(main) {
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
