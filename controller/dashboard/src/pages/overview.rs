//! How much there is, and how data planes get on.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use sluice_ir::{Endpoint, ServerName};
use sluice_translate::{Kind, Severity};

use super::{ReportLine, shown};
use crate::index::Indexed;

/// Reports on the page.
const MOST_REPORTS: usize = 100;

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    ingresses: usize,
    hosts: usize,
    routes: usize,
    backends: usize,
    endpoints: Endpoints,
    /// Reports about objects that are no Ingresses.
    reports: Vec<ReportLine>,
    errors: usize,
    warnings: usize,
    refused: usize,
    certificates: usize,
    /// Seconds since the last publication.
    published: Option<u64>,
    /// Publications that each Envoy is behind; `None`: data planes are no Envoys.
    behind: Option<Vec<u64>>,
}

#[derive(Default)]
struct Endpoints {
    all: usize,
    draining: usize,
    unhealthy: usize,
    backup: usize,
}

impl Endpoints {
    fn count(&mut self, endpoint: &Endpoint) {
        self.all += 1;
        self.draining += usize::from(endpoint.draining);
        self.unhealthy += usize::from(endpoint.unhealthy);
        self.backup += usize::from(endpoint.backup);
    }
}

pub(crate) async fn page(State(indexed): State<Arc<Indexed>>) -> Response {
    let index = indexed.now();
    let (config, dashboard) = (index.config(), &indexed.dashboard);
    let mut endpoints = Endpoints::default();
    // A variant has the endpoints of its backend.
    let backends = config.backends.values();
    let backends = backends.filter(|backend| backend.variant_of.is_none());
    let backends: Vec<_> = backends.collect();
    let all = backends.iter().flat_map(|backend| &backend.endpoints);
    all.for_each(|endpoint| endpoints.count(endpoint));
    let reports = index.snapshot.reports();
    let others = reports.iter().filter(|it| it.object.kind != Kind::Ingress);
    let count = |severity| reports.iter().filter(|it| it.severity == severity).count();
    let (generation, answered) = dashboard.store.progress();
    let behind = answered
        .iter()
        .map(|known| generation.saturating_sub(*known));
    shown(&Overview {
        ingresses: index.ingresses.len(),
        hosts: config
            .servers
            .keys()
            .filter(|name| **name != ServerName::CatchAll)
            .count(),
        routes: config.routes().count(),
        backends: backends.len(),
        endpoints,
        reports: others
            .take(MOST_REPORTS)
            .map(ReportLine::of_object)
            .collect(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        refused: dashboard.store.refusals().len(),
        certificates: config.tls.len(),
        published: dashboard.view.progress().age().map(|age| age.as_secs()),
        behind: dashboard.is_envoy.then(|| behind.collect()),
    })
}
