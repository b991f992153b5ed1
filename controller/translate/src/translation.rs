//! The result of a translation, and how to bring it up to date when only endpoints moved.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::Ingress;
use sluice_ir::{BackendId, Config, LocationId};

use crate::backends::{Registry, resolve};
use crate::global::Globals;
use crate::servers::{self, Owners};
use crate::{ObjectKey, Options, Report, Resources};

/// What there is to serve, and what could not be honoured.
#[derive(Clone, Debug, Default)]
pub struct Translation {
    config: Config,
    owners: Owners,
    routing_reports: Vec<Report>,
    backend_reports: BTreeMap<BackendId, Vec<Report>>,
    registry: Registry,
    by_service: BTreeMap<ObjectKey, BTreeSet<BackendId>>,
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
    config.edge = globals.edge.clone();
    let assembled = servers::assemble(ingresses, options, &globals, registry, routing_reports);
    (config.servers, *owners) = (assembled.servers, assembled.owners);
    translation.by_service = translation.registry.by_service();
    let all: Vec<BackendId> = translation.registry.iter().map(|(id, _)| id.clone()).collect();
    for id in all {
        translation.refresh_backend(&id, resources, options);
    }
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

    /// What is wrong with the objects themselves; what is wrong behind them is left out.
    pub(crate) fn routing_reports(&self) -> &[Report] {
        &self.routing_reports
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
    /// everything again, at the cost of what changed.
    pub fn refresh_endpoints<'a>(
        &mut self,
        services: impl IntoIterator<Item = &'a ObjectKey>,
        resources: &Resources,
        options: &Options,
    ) -> BTreeSet<BackendId> {
        let mut changed = BTreeSet::new();
        for service in services {
            for id in self.by_service.get(service).cloned().unwrap_or_default() {
                if self.refresh_backend(&id, resources, options) {
                    changed.insert(id);
                }
            }
        }
        changed
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
