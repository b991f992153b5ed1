//! One Ingress: what is not as it was written, its routes, and the endpoints behind them.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use sluice_explain::{canary_rules, response_to_all, settings, target};
use sluice_ir::{Action, Backend, BackendId, Canary, HttpRoute, PathMatch, Server, ServerName};
use sluice_translate::{ObjectKey, ids};

use super::endpoint::{EndpointRow, Live};
use super::{ReportLine, shown, with_status};
use crate::index::{Index, Indexed, Ingress};
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

pub(crate) async fn page(
    State(indexed): State<Arc<Indexed>>,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    let index = indexed.now();
    let key = ObjectKey::new(namespace, name);
    match index.ingresses.get(&key) {
        Some(ingress) => shown(&of(&index, key, ingress, &Live::new(&indexed))),
        None => with_status(StatusCode::NOT_FOUND, &Unknown { key }),
    }
}

fn of(index: &Index, key: ObjectKey, ingress: &Ingress, live: &Live<'_>) -> Page {
    let all: Vec<_> = index.routes(ingress).collect();
    let mut backends = BTreeMap::new();
    for id in all.iter().flat_map(|(_, _, route)| route.backends()) {
        let backend = index.config().backends.get(id);
        backends.extend(backend.map(|backend| (ids::without_variant(id), (id, backend))));
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
            .map(|(name, (id, backend))| section(name, (id, backend), live))
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
    let canaries: Vec<&BackendId> = route.canaries.iter().flat_map(Canary::backends).collect();
    let is_canary = |id: &&BackendId| canaries.contains(id);
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

fn section(
    name: &BackendId,
    (id, backend): (&BackendId, &Backend),
    live: &Live<'_>,
) -> BackendSection {
    let endpoints = backend.endpoints.iter().take(MOST_ENDPOINTS);
    BackendSection {
        name: ids::shown(name),
        balancing: sluice_explain::balancing(backend),
        endpoints: endpoints.map(|it| live.row(id, backend, it)).collect(),
        more: backend.endpoints.len().saturating_sub(MOST_ENDPOINTS),
    }
}
