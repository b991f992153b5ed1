//! Explanation of one request, as `sluice explain` gives it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use sluice_explain::{Explanation, Line, Request};
use sluice_translate::{ObjectKey, ids};

use super::{ReportLine, shown};
use crate::index::{Index, Indexed};

/// Query of the URL.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct ExplainQuery {
    url: String,
    method: String,
    /// One in each line.
    headers: String,
}

#[derive(Template)]
#[template(path = "explain.html")]
struct Page {
    url: String,
    method: String,
    headers: String,
    /// Why it is no request.
    error: Option<String>,
    explained: Option<Explained>,
}

struct Explained {
    request: String,
    /// Words, each with what it is, in one line or more.
    lines: Vec<(&'static str, Vec<String>)>,
    ingress: Option<ObjectKey>,
    reports: Vec<ReportLine>,
}

pub(crate) async fn page(
    State(indexed): State<Arc<Indexed>>,
    Query(query): Query<ExplainQuery>,
) -> Response {
    let method = match query.method.trim() {
        "" => "GET".to_owned(),
        method => method.to_ascii_uppercase(),
    };
    let headers = query.headers.lines().map(|line| line.trim().to_owned());
    let headers: Vec<String> = headers.filter(|line| !line.is_empty()).collect();
    let request = match query.url.trim() {
        "" => None,
        url => Some(Request::parse(url, &method, &headers)),
    };
    let (explained, error) = match request {
        None => (None, None),
        Some(Err(error)) => (None, Some(error.to_string())),
        Some(Ok(request)) => (Some(explained_of(&indexed.now(), &request)), None),
    };
    shown(&Page {
        url: query.url,
        method,
        headers: query.headers,
        error,
        explained,
    })
}

fn explained_of(index: &Index, request: &Request) -> Explained {
    let explanation: Explanation = sluice_explain::explain(index.config(), request);
    let mut lines = sluice_explain::way(&explanation);
    lines.extend(sluice_explain::end(&explanation.outcome, &ids::shown));
    let route = explanation.route.as_ref();
    let ingress = route.and_then(|route| index.snapshot.owner(&route.id));
    let found = ingress.and_then(|key| index.ingresses.get(key));
    let reports = found
        .map(|ingress| index.reports(ingress))
        .unwrap_or_default();
    Explained {
        request: request.to_string(),
        lines: grouped(lines),
        ingress: ingress.cloned(),
        reports: reports.into_iter().map(ReportLine::new).collect(),
    }
}

/// Lines without a word are of the line before.
fn grouped(lines: Vec<Line>) -> Vec<(&'static str, Vec<String>)> {
    let mut groups: Vec<(&'static str, Vec<String>)> = Vec::new();
    for (word, text) in lines {
        match groups.last_mut() {
            Some((_, texts)) if word.is_empty() => texts.push(text),
            _ => groups.push((word, vec![text])),
        }
    }
    groups
}
