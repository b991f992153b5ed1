//! Explanation of one request, as `sluice explain` gives it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use sluice_explain::{Explanation, Line, Request};
use sluice_translate::{ObjectKey, Setting, Subject, ids};
use tokio::task::spawn_blocking;

use super::{ReportLine, shown};
use crate::Dashboard;
use crate::index::{Index, Indexed};

/// Time for finding out which settings have a part in an answer.
const SETTINGS_TIME: Duration = Duration::from_secs(1);

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
        Some(Ok(request)) => {
            // Some Ingresses are translated, once for each of their annotations: one request at a time.
            let explaining = Arc::clone(&indexed);
            let _turn = explaining.explaining.lock().await;
            let explained = spawn_blocking(move || explained_of(&indexed, &request)).await;
            let error = explained.as_ref().err().map(ToString::to_string);
            (explained.ok(), error)
        }
    };
    shown(&Page {
        url: query.url,
        method,
        headers: query.headers,
        error,
        explained,
    })
}

/// Annotations and keys of the ConfigMap that the request would fare otherwise without.
fn policies(
    indexed: &Indexed,
    index: &Index,
    explanation: &Explanation,
    request: &Request,
) -> Vec<Line> {
    let Dashboard { view, options, .. } = &indexed.dashboard;
    let (resources, server) = (view.resources().clone(), explanation.server_name());
    let subject = Subject {
        inputs: (&resources, options),
        snapshot: &index.snapshot,
        server: server.as_ref(),
        route: explanation.route.as_ref().map(|route| &route.id),
    };
    let end = Instant::now() + SETTINGS_TIME;
    let goes_on = || Instant::now() < end;
    let causes = subject.causes(goes_on, |config| sluice_explain::details(config, request));
    let more = (!causes.is_whole).then(|| {
        let text = "not all were tried in time: `sluice explain` takes longer, and tries more";
        ("policy", text.to_owned())
    });
    let lines = causes.settings.into_iter().map(|setting| {
        let Setting {
            object,
            name,
            value,
            ..
        } = setting;
        ("policy", format!("{name}: {value:?}  ({object})"))
    });
    lines.chain(more).collect()
}

fn explained_of(indexed: &Indexed, request: &Request) -> Explained {
    let index = &*indexed.now();
    let explanation: Explanation = sluice_explain::explain(index.config(), request);
    let mut lines = sluice_explain::way(&explanation);
    lines.extend(policies(indexed, index, &explanation, request));
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
