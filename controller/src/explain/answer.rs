//! An explanation with the objects behind it, as data and as lines.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use sluice_explain::{Explanation, Line, Words, setting_word};
use sluice_source::{Location, Problem};
use sluice_syntax::printable;
use sluice_translate::{Report, ids, why_closed};

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

impl Place {
    fn text(&self) -> String {
        format!("{}{}", self.object, place(self.location.as_ref()))
    }
}

impl WrittenSetting {
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
        let certificate = self.certificate.as_ref().map(Place::text);
        let words = Words {
            written_path: self.written_path.as_deref(),
            paths: self.paths.as_deref(),
            certificate: certificate.as_deref(),
            closed: why_closed(self.reports.iter().map(|it| it.report)),
        };
        let mut lines = vec![("request", self.request.clone())];
        lines.extend(self.way(&words));
        lines.extend(self.ingress.iter().map(|ingress| {
            let place = place(self.location.as_ref());
            ("ingress", format!("{ingress}{place}"))
        }));
        lines.extend(
            self.settings
                .iter()
                .map(|it| (setting_word(&it.name), it.text())),
        );
        if self.not_all_tried {
            let text = "not all annotations could be tried in time: others may have a part in it";
            lines.push(("note", text.to_owned()));
        }
        lines.extend(self.snippet.iter().map(|snippet| {
            let place = place(snippet.location.as_ref());
            let Snippet { object, field, .. } = snippet;
            ("answered by", format!("{object} {field}{place}"))
        }));
        lines.extend(self.end(&words));
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

    /// The end, with the lines of Services.
    fn end(&self, words: &Words<'_>) -> Vec<Line> {
        sluice_explain::end(&self.explanation.outcome, words, &|id| {
            let objects = self.backends.get(id.as_str());
            let service = objects.and_then(|it| it.service.as_ref());
            let location = service.and_then(|service| service.location.as_ref());
            format!("{}{}", ids::shown(id), place(location))
        })
    }

    /// The way, with the port of the listener.
    fn way(&self, words: &Words<'_>) -> Vec<Line> {
        let mut lines = sluice_explain::way(self.explanation, words);
        for (_, text) in lines.iter_mut().filter(|(word, _)| *word == "listener") {
            *text = format!("{text}, port {}", self.port);
        }
        lines
    }

    fn slices(&self) -> Vec<Line> {
        let all = self.backends.values().flat_map(|it| &it.endpoint_slices);
        all.map(|slice| ("endpoints", slice.text())).collect()
    }
}
