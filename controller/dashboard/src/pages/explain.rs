//! Explanation of one request, as `sluice explain` gives it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use serde::Deserialize;
use sluice_explain::{Explanation, Line, Owner, Request, Words, paths_of_host, setting_word};
use sluice_ir::SecretId;
use sluice_translate::{Kind, ObjectKey, Options, Setting, Subject, ids, why_closed};
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
    /// [`Dashboard::explain`]
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
            let explained =
                move || explained_of(&indexed.dashboard, &indexed.now(), &request, SETTINGS_TIME);
            let explained = spawn_blocking(explained).await;
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
    dashboard: &Dashboard,
    index: &Index,
    explanation: &Explanation,
    request: &Request,
    time: Duration,
) -> Vec<Line> {
    let Dashboard { view, options, .. } = dashboard;
    let (resources, server) = (view.resources().clone(), explanation.server_name());
    let subject = Subject {
        inputs: (&resources, options),
        snapshot: &index.snapshot,
        server: server.as_ref(),
        route: explanation.route.as_ref().map(|route| &route.id),
    };
    let end = Instant::now() + time;
    let goes_on = || Instant::now() < end;
    let causes = subject.causes(goes_on, |config| sluice_explain::details(config, request));
    let more = (!causes.is_whole).then(|| {
        let text = "not all were tried in time: `sluice explain` takes longer, and tries more";
        ("note", text.to_owned())
    });
    let lines = causes.settings.into_iter().map(|setting| {
        let Setting {
            object,
            name,
            value,
            ..
        } = setting;
        let word = setting_word(&name);
        (word, format!("{name}: {value:?}  ({object})"))
    });
    lines.chain(more).collect()
}

/// The snippet of the ConfigMap that answers.
fn answered_by(explanation: &Explanation, options: &Options) -> Option<Line> {
    let (snippet, key) = explanation.answered_by.zip(options.configmap.as_ref())?;
    let text = format!("{} {key} data.{}", Kind::ConfigMap, snippet.key());
    Some(("answered by", text))
}

impl Dashboard {
    /// The page's lines about a request: words, each with what it is, in one line or more. `time`: for the settings.
    #[must_use]
    pub fn explain(&self, request: &Request, time: Duration) -> Vec<(&'static str, Vec<String>)> {
        let index = Index::new(self.view.snapshot());
        explained_of(self, &index, request, time).lines
    }
}

fn explained_of(
    dashboard: &Dashboard,
    index: &Index,
    request: &Request,
    time: Duration,
) -> Explained {
    let (snapshot, options) = (&index.snapshot, &dashboard.options);
    let explanation: Explanation = sluice_explain::explain(index.config(), request);
    let route = explanation.route.as_ref().filter(|it| !it.of_operator);
    let owner = route.and_then(|route| snapshot.route_owner(&route.id));
    let found = owner.and_then(|owner| index.ingresses.get(&owner.object));
    let reports = found
        .map(|ingress| index.reports(ingress))
        .unwrap_or_default();
    let paths = paths_of_host(&explanation, index.config(), |route| {
        let owner = snapshot.route_owner(route)?;
        Some(Owner {
            written: owner.written.as_deref(),
            is_of_host: owner.is_of_host(),
        })
    });
    let id = explanation.certificate.as_deref();
    let secret = id.and_then(|id| ids::secret_of(&SecretId::new(id)));
    let secret = secret.map(|key| format!("{} {key}", Kind::Secret));
    let words = Words {
        written_path: owner.and_then(|owner| owner.written.as_deref()),
        paths: paths.as_deref(),
        certificate: secret.as_deref(),
        closed: why_closed(reports.iter().copied()),
    };
    let mut lines = sluice_explain::way(&explanation, &words);
    lines.extend(policies(dashboard, index, &explanation, request, time));
    lines.extend(answered_by(&explanation, options));
    let outcome = &explanation.outcome;
    lines.extend(sluice_explain::end(outcome, &words, &ids::shown));
    Explained {
        request: request.to_string(),
        lines: grouped(lines),
        ingress: owner.map(|owner| owner.object.clone()),
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
