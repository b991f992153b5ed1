//! One Ingress: what is not as it was written, its routes, and the endpoints behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_explain::{canary_rules, response_to_all, settings, target};
use sluice_ir::{
    Action, Backend, BackendId, Canary, Endpoint, HttpRoute, PathMatch, Server, ServerName,
};
use sluice_translate::{ObjectKey, ids};

use super::{ReportLine, shown, with_status};
use crate::Traffic;
use crate::index::{Index, Indexed, Ingress};
use crate::traffic::Counts;
use crate::verdict::{self, Verdict};

/// Routes and endpoints on a page.
const MOST_ROUTES: usize = 200;
const MOST_ENDPOINTS: usize = 200;
const MOST_BACKENDS: usize = 50;

#[derive(Template)]
#[template(path = "ingress.html")]
struct Page {
    key: ObjectKey,
    style: &'static str,
    verdict: String,
    /// Its routes are those of the Ingresses that it is a canary of.
    is_canary: bool,
    reports: Vec<ReportLine>,
    routes: Vec<Route>,
    /// Routes beside those.
    more: usize,
    backends: Vec<BackendSection>,
    /// Backends beside those.
    more_backends: usize,
}

#[derive(Template)]
#[template(path = "unknown.html")]
struct Unknown {
    key: ObjectKey,
}

struct Route {
    host: String,
    path: String,
    kind: &'static str,
    action: String,
    canaries: Vec<CanarySection>,
    /// Names and values.
    policies: Vec<(String, String)>,
}

struct CanarySection {
    backend: String,
    /// In words.
    rules: Vec<String>,
}

struct BackendSection {
    name: String,
    balancing: String,
    endpoints: Vec<EndpointRow>,
    more: usize,
}

/// Counts of an endpoint as a page shows them.
struct Numbers {
    requests: u64,
    failed: u64,
    latency: String,
}

struct EndpointRow {
    address: String,
    weight: u16,
    traffic: Option<Numbers>,
    style: &'static str,
    state: &'static str,
}

pub(crate) async fn page(
    State(indexed): State<Arc<Indexed>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    let index = indexed.now();
    let key = ObjectKey::new(namespace, name);
    match index.ingresses.get(&key) {
        Some(ingress) => shown(&of(
            &index,
            key,
            ingress,
            indexed.dashboard.traffic.as_ref(),
        )),
        None => with_status(StatusCode::NOT_FOUND, &Unknown { key }),
    }
}

fn of(index: &Index, key: ObjectKey, ingress: &Ingress, traffic: Option<&Traffic>) -> Page {
    let all: Vec<_> = index.routes(ingress).collect();
    let mut backends = BTreeMap::new();
    for id in all.iter().flat_map(|(_, _, route)| route.backends()) {
        let backend = index.config().backends.get(id);
        backends.extend(backend.map(|backend| (ids::without_variant(id), backend)));
    }
    Page {
        key,
        style: Verdict::of(ingress).style(),
        verdict: verdict::text(ingress),
        is_canary: ingress.is_canary,
        reports: index
            .reports(ingress)
            .into_iter()
            .map(ReportLine::new)
            .collect(),
        more: all.len().saturating_sub(MOST_ROUTES),
        routes: all
            .iter()
            .take(MOST_ROUTES)
            .map(|(host, server, it)| route(host, server, it))
            .collect(),
        more_backends: backends.len().saturating_sub(MOST_BACKENDS),
        backends: backends
            .iter()
            .take(MOST_BACKENDS)
            .map(|(id, backend)| section(id, backend, traffic))
            .collect(),
    }
}

fn route(host: &ServerName, server: &Server, route: &HttpRoute) -> Route {
    let (path, kind) = match &route.matches.path {
        PathMatch::Exact(path) => (path.clone(), "exact"),
        PathMatch::Prefix(path) => (path.clone(), "prefix"),
        PathMatch::Regex(regex) => (regex.pattern.clone(), "pattern"),
    };
    Route {
        host: match host {
            ServerName::CatchAll => "any other host".to_owned(),
            name => name.to_string(),
        },
        path,
        kind,
        action: action(route),
        canaries: route.canaries.iter().map(canary).collect(),
        policies: settings(server, route),
    }
}

fn canary(canary: &Canary) -> CanarySection {
    CanarySection {
        backend: ids::shown(&canary.backend),
        rules: canary_rules(&canary.rules),
    }
}

fn action(route: &HttpRoute) -> String {
    if let Some(response) = response_to_all(route) {
        return response;
    }
    let is_canary = |id: &&BackendId| route.canaries.iter().any(|canary| canary.backend == **id);
    let backends = route.backends().filter(|id| !is_canary(id));
    let backends: Vec<String> = backends.map(ids::shown).collect();
    match backends.is_empty() {
        false => backends.join(", "),
        true => match &route.action {
            Action::Forward(_) => "no backend: 503".to_owned(),
            Action::Denied => "503: access control that cannot be enforced".to_owned(),
            Action::Redirect(redirect) => {
                format!("{} to {}", redirect.status, target(&redirect.to))
            }
            Action::Respond(status) => status.to_string(),
        },
    }
}

fn section(id: &BackendId, backend: &Backend, traffic: Option<&Traffic>) -> BackendSection {
    let endpoints = backend.endpoints.iter().take(MOST_ENDPOINTS);
    BackendSection {
        name: ids::shown(id),
        balancing: sluice_explain::balancing(backend),
        endpoints: endpoints.map(|it| row(it, traffic)).collect(),
        more: backend.endpoints.len().saturating_sub(MOST_ENDPOINTS),
    }
}

impl Numbers {
    fn new(counts: Counts) -> Self {
        Numbers {
            requests: counts.requests,
            failed: counts.failed,
            latency: match counts.latency {
                Some(seconds) => format!("{:.1} ms", seconds * 1000.0),
                None => "-".to_owned(),
            },
        }
    }
}

fn row(endpoint: &Endpoint, traffic: Option<&Traffic>) -> EndpointRow {
    let (style, state) = match endpoint {
        Endpoint { draining: true, .. } => ("warning", "draining: keeps its sessions"),
        Endpoint {
            unhealthy: true, ..
        } => ("error", "fails its health checks"),
        Endpoint { backup: true, .. } => ("soft", "backup"),
        _ => ("good", "ready"),
    };
    EndpointRow {
        address: endpoint.address.to_string(),
        weight: endpoint.weight.get(),
        traffic: traffic.map(|traffic| Numbers::new(traffic.of(endpoint.address))),
        style,
        state,
    }
}
