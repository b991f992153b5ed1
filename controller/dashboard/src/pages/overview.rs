//! How much there is, and how data planes get on.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use sluice_ir::{Endpoint, ServerName};
use sluice_translate::{Kind, Severity};

use super::{ReportLine, data_planes, last_publication, shown};
use crate::index::{Indexed, Ingress};
use crate::time::rough;
use crate::verdict::Filter;

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
    /// Ingresses with an error.
    errors: usize,
    warnings: usize,
    refused: usize,
    certificates: usize,
    /// How long ago the last publication was.
    published: Option<String>,
    /// How long it took.
    took: String,
    data_planes: Vec<data_planes::Row>,
    is_envoy: bool,
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
    let ingresses = index.ingresses.values();
    let with = |severity| {
        let is_one = move |it: &&Ingress| Filter::Reported(severity).takes(it);
        ingresses.clone().filter(is_one).count()
    };
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
        errors: with(Severity::Error),
        warnings: with(Severity::Warning),
        refused: dashboard.store.refusals().len(),
        certificates: config.tls.len(),
        published: dashboard.view.progress().age().map(rough),
        took: last_publication::took(dashboard),
        data_planes: data_planes::rows(dashboard),
        is_envoy: dashboard.nginx.is_none(),
    })
}
