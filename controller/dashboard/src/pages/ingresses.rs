//! All Ingresses, with what is served of them.

use std::cmp::Reverse;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use sluice_translate::ObjectKey;

use super::with_status;
use crate::index::{Indexed, Ingress};
use crate::paging::{self, Paged};
use crate::verdict::{self, Filter, Verdict};

/// Hosts of an Ingress in its row.
const HOSTS: usize = 3;

/// Value of `sort` for the worst first.
const BY_STATE: &str = "state";

/// Query of the URL.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct SearchQuery {
    /// A part of a name, a namespace or a host.
    q: String,
    /// Of a filter.
    state: String,
    /// `state`, or nothing: by name.
    sort: String,
    page: String,
}

#[derive(Template)]
#[template(path = "ingresses.html")]
struct Ingresses {
    q: String,
    state: String,
    sort: String,
    /// A part of the URL that is not as it can be.
    error: Option<String>,
    filters: Vec<FilterLink>,
    list: Paged<Row>,
}

struct FilterLink {
    value: &'static str,
    name: &'static str,
    /// Ingresses behind it.
    count: usize,
}

struct Row {
    key: ObjectKey,
    hosts: Vec<String>,
    /// Hosts beside those.
    more: usize,
    routes: usize,
    style: &'static str,
    verdict: String,
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
    let all: Vec<_> = found.collect();
    let filters = Filter::ALL.map(|(filter, value, name)| FilterLink {
        value,
        name,
        count: all.iter().filter(|(_, it)| filter.takes(it)).count(),
    });
    let (filter, error) = filter(&query);
    let mut found: Vec<_> = all.into_iter().filter(|(_, it)| filter.takes(it)).collect();
    if query.sort == BY_STATE {
        // Stable: of the same verdict by name.
        found.sort_by_key(|(_, ingress)| Reverse(Verdict::of(ingress)));
    }
    let rows = found.into_iter().map(|(key, ingress)| row(key, ingress));
    let page = Ingresses {
        list: Paged::new(rows, paging::number(&query.page)),
        filters: filters.into(),
        error,
        q: query.q,
        state: query.state,
        sort: query.sort,
    };
    match page.error {
        Some(_) => with_status(StatusCode::BAD_REQUEST, &page),
        None => with_status(StatusCode::OK, &page),
    }
}

/// The filter of a query, and what is wrong with it.
fn filter(query: &SearchQuery) -> (Filter, Option<String>) {
    let sort = match query.sort.as_str() {
        "" | BY_STATE => None,
        other => Some(format!(
            "sort: expected {BY_STATE} or nothing, got {other:?}"
        )),
    };
    match Filter::parse(&query.state) {
        Ok(filter) => (filter, sort),
        Err(error) => (Filter::All, Some(error)),
    }
}

fn row(key: &ObjectKey, ingress: &Ingress) -> Row {
    let hosts = ingress.routes.keys().take(HOSTS);
    Row {
        key: key.clone(),
        hosts: hosts.map(ToString::to_string).collect(),
        more: ingress.routes.len().saturating_sub(HOSTS),
        routes: ingress.all_routes,
        style: Verdict::of(ingress).style(),
        verdict: verdict::text(ingress),
    }
}
