//! All Ingresses, with what is served of them.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use sluice_translate::ObjectKey;

use super::{shown, verdict};
use crate::index::{Indexed, Ingress};
use crate::paging::{self, Paged};

/// Hosts of an Ingress in its row.
const HOSTS: usize = 3;

/// Query of the URL.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchQuery {
    /// A part of a name, a namespace or a host.
    q: String,
    page: String,
}

#[derive(Template)]
#[template(path = "ingresses.html")]
struct Ingresses {
    q: String,
    list: Paged<Row>,
}

struct Row {
    key: ObjectKey,
    hosts: Vec<String>,
    /// Hosts beside those.
    more: usize,
    routes: usize,
    style: &'static str,
    verdict: &'static str,
}

pub(crate) async fn page(
    State(indexed): State<Arc<Indexed>>,
    Query(query): Query<SearchQuery>,
) -> Response {
    let index = indexed.now();
    let text = query.q.trim().to_ascii_lowercase();
    let found = index.ingresses.iter().filter(|(key, ingress)| {
        let mut hosts = ingress.routes.keys();
        key.to_string().contains(&text) || hosts.any(|host| host.to_string().contains(&text))
    });
    let found: Vec<_> = found.collect();
    let rows = found.into_iter().map(|(key, ingress)| row(key, ingress));
    shown(&Ingresses {
        list: Paged::new(rows, paging::number(&query.page)),
        q: query.q,
    })
}

fn row(key: &ObjectKey, ingress: &Ingress) -> Row {
    let (style, verdict) = verdict(ingress);
    let hosts = ingress.routes.keys().take(HOSTS);
    Row {
        key: key.clone(),
        hosts: hosts.map(ToString::to_string).collect(),
        more: ingress.routes.len().saturating_sub(HOSTS),
        routes: ingress.routes.values().map(Vec::len).sum(),
        style,
        verdict,
    }
}
