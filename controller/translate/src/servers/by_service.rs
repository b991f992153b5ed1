//! Annotations of an Ingress with several Services whose snippets name that of each path.
//!
//! ```text
//!   paths to web:80      snippets with web and 80 in place of $service_name and $service_port
//!   paths to api:8080    snippets with api and 8080
//! ```
//!
//! ingress-nginx sets both variables in each location. Here the annotations are read once for each Service and port, of an Ingress all of
//! whose paths lead there.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::IngressBackend;
use sluice_ir::{ExternalAuth, ReasonCode};
use sluice_translate_engine::{Ingress, Report, Reporter};

use super::Assembly;
use super::path_rule::IngressContext;
use crate::annotations::{Annotations, Context};
use crate::snippet;

/// Services and ports of one Ingress with more of which the variables are not known: everything is read again for each.
pub(crate) const MAX_SERVICES: usize = 16;

const SNIPPETS: [&str; 2] = ["/configuration-snippet", "/auth-snippet"];
const VARIABLES: [&str; 2] = ["service_name", "service_port"];

/// Name of a Service, and the port as a path has it.
pub(super) type ServicePort = (String, String);

/// An Ingress for each of its Services, all of whose paths lead there; empty where one reading does for all.
pub(super) fn ingresses(ingress: &Ingress) -> Vec<(ServicePort, Ingress)> {
    if !names_services(ingress) {
        return Vec::new();
    }
    let services: BTreeSet<ServicePort> = backends(ingress).filter_map(service_port).collect();
    if !(2..=MAX_SERVICES).contains(&services.len()) {
        return Vec::new();
    }
    let one_each = services.into_iter().filter_map(|service| {
        let is_its = |backend: &&IngressBackend| service_port(backend).as_ref() == Some(&service);
        let backend = backends(ingress).find(is_its)?.clone();
        Some((service, leading_to(ingress, &backend)))
    });
    one_each.collect()
}

fn names_services(ingress: &Ingress) -> bool {
    let mut annotations = ingress.annotations.iter();
    annotations.any(|(key, text)| {
        SNIPPETS.iter().any(|name| key.ends_with(name))
            && !snippet::variables_in(text).is_disjoint(&VARIABLES.map(str::to_owned).into())
    })
}

fn backends(ingress: &Ingress) -> impl Iterator<Item = &IngressBackend> {
    let spec = ingress.spec.iter();
    let rules = spec.clone().flat_map(|it| it.rules.iter().flatten());
    let paths = rules.flat_map(|rule| rule.http.iter().flat_map(|http| &http.paths));
    let of_paths = paths.map(|path| &path.backend);
    of_paths.chain(spec.filter_map(|it| it.default_backend.as_ref()))
}

fn service_port(backend: &IngressBackend) -> Option<ServicePort> {
    let service = backend.service.as_ref()?;
    let port = service.port.as_ref()?;
    let number = port.number.map(|number| number.to_string());
    Some((service.name.clone(), number.or_else(|| port.name.clone())?))
}

/// The Ingress, as far as annotations are read by it: with its hosts, and this backend alone.
fn leading_to(ingress: &Ingress, backend: &IngressBackend) -> Ingress {
    let mut one = ingress.clone();
    let spec = one.spec.iter_mut();
    for spec in spec {
        if let Some(default) = &mut spec.default_backend {
            default.clone_from(backend);
        }
        for http in spec
            .rules
            .iter_mut()
            .flatten()
            .filter_map(|it| it.http.as_mut())
        {
            http.paths.truncate(1);
            for path in &mut http.paths {
                path.backend.clone_from(backend);
            }
        }
    }
    one
}

impl IngressContext {
    /// The same for a path that leads there.
    pub(super) fn for_backend(&self, backend: &IngressBackend) -> Self {
        let service = service_port(backend);
        let own = service.and_then(|service| self.by_service.get(&service));
        IngressContext {
            annotations: Arc::clone(own.unwrap_or(&self.annotations)),
            ..self.clone()
        }
    }

    /// The same for paths that lead to no Service: to nginx both variables are empty there, and a guard may compare them.
    pub(super) fn for_unmatched(&self) -> Self {
        match !self.by_service.is_empty() && self.annotations.restricts_access() {
            true => self.closed(),
            false => self.clone(),
        }
    }
}

impl Assembly<'_> {
    /// Reads the annotations for each Service. Of the Ingress as a whole are those that restrict access, if there are any. `first`: number
    /// of reports before those of the Ingress.
    pub(super) fn read_by_service(
        &mut self,
        ingresses: &[(ServicePort, Ingress)],
        base: &mut IngressContext,
        first: usize,
    ) {
        if ingresses.is_empty() {
            return;
        }
        let mut said = Vec::new();
        let read = ingresses.iter().map(|(service, ingress)| {
            let before = self.reports.len();
            let reporter = Reporter::new(base.object.clone(), &mut self.reports);
            let context = Context {
                tracker: self.tracker,
                options: self.options,
                globals: self.globals,
            };
            let mut annotations = Annotations::read(ingress, context, &mut self.secrets, reporter);
            take_backends(&mut annotations, &base.annotations);
            said.push(self.reports.split_off(before));
            (service.clone(), Arc::new(annotations))
        });
        base.by_service = Arc::new(read.collect());
        let of_ingress = self.reports.split_off(first);
        self.reports.extend(of_all(of_ingress, &said));
        let mut all = base.by_service.values();
        if let Some(restricting) = all.find(|it| it.restricts_access()) {
            base.annotations = Arc::clone(restricting);
        }
    }
}

/// Reports of an Ingress and of its readings, each once. A snippet has no effect if it has none for any Service.
fn of_all(of_ingress: Vec<Report>, said: &[Vec<Report>]) -> Vec<Report> {
    let holds = |report: &Report| {
        report.code != ReasonCode::NoEffect || said.iter().all(|one| one.contains(report))
    };
    let mut all: Vec<Report> = of_ingress.into_iter().filter(holds).collect();
    for report in said.iter().flatten().filter(|report| holds(report)) {
        if !all.contains(report) {
            all.push(report.clone());
        }
    }
    all
}

/// Backends that an Ingress names in annotations are those of its first reading.
fn take_backends(annotations: &mut Annotations, base: &Annotations) {
    let policy = Arc::make_mut(&mut annotations.policy);
    policy.mirrors.clone_from(&base.policy.mirrors);
    let known = base.policy.authentication.as_ref();
    let known = known.and_then(|it| it.external.as_ref());
    let own = policy.authentication.as_mut();
    let own = own.and_then(|it| it.external.as_mut());
    if let (Some(own), Some(ExternalAuth { backend, .. })) = (own, known) {
        own.backend.clone_from(backend);
    }
}
