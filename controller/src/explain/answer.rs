//! An explanation with the objects behind it, as data and as lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use sluice_explain::{Explanation, Line, Outcome, Route};
use sluice_source::{Location, Problem};
use sluice_syntax::printable;
use sluice_translate::{Report, ids};

use super::unmatched;

/// An explanation with the objects behind it.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    pub(super) request: String,
    /// Port of the listener.
    pub(super) port: u16,
    /// The Ingress of the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ingress: Option<String>,
    /// The path as it is written there, if the route matches it in other words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) written_path: Option<String>,
    /// The paths of the host, where none of them takes the request.
    #[serde(skip_serializing_if = "Option::is_none", rename = "no_path_of")]
    pub(super) paths: Option<Vec<String>>,
    /// The path in its manifest.
    #[serde(flatten)]
    pub(super) location: Option<Location>,
    /// Annotations and keys of the ConfigMap that have a part in it, as they are written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) settings: Vec<WrittenSetting>,
    /// There was no time for all of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) not_all_tried: bool,
    /// The Secret of the certificate.
    #[serde(skip_serializing_if = "Option::is_none", rename = "secret")]
    pub(super) certificate: Option<Place>,
    /// Objects of the backends.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", rename = "objects")]
    pub(super) backends: BTreeMap<String, BackendPlaces>,
    /// The snippet of the ConfigMap that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) snippet: Option<Snippet>,
    #[serde(flatten)]
    pub(super) explanation: &'a Explanation,
    /// Reports about that Ingress; without one, about those that name the host.
    pub(super) reports: Vec<LocatedReport<'a>>,
    /// Documents that cannot be read: what they say of the request is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unread: Vec<&'a Problem>,
}

/// An annotation or a key.
#[derive(Serialize)]
pub(super) struct WrittenSetting {
    pub(super) object: String,
    pub(super) name: String,
    pub(super) value: String,
    #[serde(flatten)]
    pub(super) location: Option<Location>,
}

/// An object, and where it is written.
#[derive(Serialize)]
pub(super) struct Place {
    pub(super) object: String,
    #[serde(flatten)]
    pub(super) location: Option<Location>,
}

/// Objects of a backend.
#[derive(Serialize)]
pub(super) struct BackendPlaces {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<Place>,
    pub(super) endpoint_slices: Vec<Place>,
}

/// A report, and where its field is written.
#[derive(Serialize)]
pub(super) struct LocatedReport<'a> {
    #[serde(flatten)]
    pub(super) report: &'a Report,
    #[serde(flatten)]
    pub(super) location: Option<Location>,
}

/// A snippet of the ConfigMap.
#[derive(Serialize)]
pub(super) struct Snippet {
    pub(super) object: String,
    pub(super) field: String,
    #[serde(flatten)]
    pub(super) location: Option<Location>,
}

fn place(location: Option<&Location>) -> String {
    let place = location.map(|at| format!("  ({}:{})", at.file, at.line));
    place.unwrap_or_default()
}

/// The field of reports about what a data plane does not speak to pods.
const PROTOCOL: &str = "annotation backend-protocol";

impl Place {
    fn text(&self) -> String {
        format!("{}{}", self.object, place(self.location.as_ref()))
    }
}

impl WrittenSetting {
    /// The word for its line: settings of authentication, copies and limits have their own.
    fn word(&self) -> &'static str {
        const WORDS: [(&str, &str); 6] = [
            ("auth-", "auth"),
            ("enable-global-auth", "auth"),
            ("global-auth-", "auth"),
            ("mirror-", "mirror"),
            ("limit-", "limit"),
            ("global-rate-limit", "limit"),
        ];
        let name = self.name.rsplit('/').next().unwrap_or_default();
        let found = WORDS.iter().find(|(begin, _)| name.starts_with(begin));
        found.map_or("policy", |(_, word)| *word)
    }

    fn text(&self) -> String {
        let at = self.location.as_ref();
        let at = at.map(|at| format!(", {}:{}", at.file, at.line));
        let at = at.unwrap_or_default();
        format!("{}: {:?}  ({}{at})", self.name, self.value, self.object)
    }
}

impl LocatedReport<'_> {
    fn line(&self) -> Line {
        let (severity, text) = self.report.compared();
        let place = place(self.location.as_ref());
        let text = format!("{}: {text}{place}", self.report.field);
        (severity.word(), text)
    }
}

impl Answer<'_> {
    pub(super) fn text(&self) -> String {
        let mut lines = vec![("request", self.request.clone())];
        lines.extend(self.way());
        lines.extend(self.ingress.iter().map(|ingress| {
            let place = place(self.location.as_ref());
            ("ingress", format!("{ingress}{place}"))
        }));
        lines.extend(self.settings.iter().map(|it| (it.word(), it.text())));
        if self.not_all_tried {
            let text = "not all annotations could be tried in time: others may have a part in it";
            lines.push(("note", text.to_owned()));
        }
        lines.extend(self.snippet.iter().map(|snippet| {
            let place = place(snippet.location.as_ref());
            let Snippet { object, field, .. } = snippet;
            ("answered by", format!("{object} {field}{place}"))
        }));
        lines.extend(self.end());
        lines.extend(self.slices());
        lines.extend(self.reports.iter().map(LocatedReport::line));
        lines.extend(self.unread.iter().map(|problem| {
            let line = problem.line.map(|line| format!(":{line}"));
            let place = format!("{}{}", problem.place, line.unwrap_or_default());
            ("unread", format!("{place}: {}", problem.reason))
        }));
        lines
            .into_iter()
            .fold(String::new(), |mut text, (name, value)| {
                // A String takes everything. Values are texts of tenants.
                let _ = writeln!(text, "{name:<12} {}", printable(&value));
                text
            })
    }

    /// The end, with the lines of Services, and why paths are closed.
    fn end(&self) -> Vec<Line> {
        let mut lines = sluice_explain::end(&self.explanation.outcome, &|id| {
            let objects = self.backends.get(id.as_str());
            let service = objects.and_then(|it| it.service.as_ref());
            let location = service.and_then(|service| service.location.as_ref());
            format!("{}{}", ids::shown(id), place(location))
        });
        if let (Outcome::Denied, Some(reason)) = (&self.explanation.outcome, self.why_denied()) {
            lines = vec![("response", format!("503: {reason}"))];
        }
        lines
    }

    /// The reason, where it is the protocol of the pods, which is that of all paths of an Ingress, and nothing else closes one of them.
    fn why_denied(&self) -> Option<&str> {
        let reports = self.reports.iter().map(|it| it.report);
        let mut closing = reports.filter(|report| report.consequence.contains("503"));
        let first = closing.next()?;
        let is_protocol = |report: &Report| report.field == PROTOCOL;
        (is_protocol(first) && closing.all(is_protocol)).then_some(first.reason.as_str())
    }

    /// The way, with the port of the listener, the Secret of the certificate and the path that its owner will look for.
    fn way(&self) -> Vec<Line> {
        let mut lines = sluice_explain::way(self.explanation);
        for (word, text) in &mut lines {
            if *word == "listener" {
                *text = format!("{text}, port {}", self.port);
            } else if *word == "certificate"
                && let Some(secret) = &self.certificate
            {
                *text = secret.text();
            } else if *word == "path"
                && let Some(paths) = &self.paths
            {
                *text = unmatched::text(paths);
            } else if *word == "path"
                && let Some((written, route)) = self.written_path()
            {
                // A location has its modifier.
                *text = match written.starts_with('/') {
                    true => sluice_explain::path(route, written),
                    false => written.to_owned(),
                };
            }
        }
        let has_path = lines.iter().any(|(word, _)| *word == "path");
        let paths = self.paths.as_ref().filter(|_| !has_path);
        lines.extend(paths.map(|paths| ("path", unmatched::text(paths))));
        lines
    }

    fn written_path(&self) -> Option<(&str, &Route)> {
        let written = self.written_path.as_deref();
        written.zip(self.explanation.route.as_ref())
    }

    fn slices(&self) -> Vec<Line> {
        let all = self.backends.values().flat_map(|it| &it.endpoint_slices);
        all.map(|slice| ("endpoints", slice.text())).collect()
    }
}
