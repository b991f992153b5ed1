//! The command `sluice explain`: what becomes of one request, by [`sluice_explain`], and which objects say so.

use std::fmt::Write;

use serde::Serialize;
use sluice_explain::{Explanation, OperatorSnippet, Request};
use sluice_ir::PathMatch;
use sluice_kube::is_in_cluster;
use sluice_source::{Collected, Input, Location, Places, Problem, Reading, read_inputs};
use sluice_syntax::printable;
use sluice_translate::{
    Kind, Object, ObjectKey, ObjectRef, Report, Severity, Translation, ids, translate,
};

use crate::args::{Explain, ExplainOutput, ObjectSource};
use crate::{cluster_events, options, output};

/// An explanation with the objects behind it.
#[derive(Serialize)]
struct Answer<'a> {
    request: String,
    /// The Ingress of the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    ingress: Option<String>,
    /// The path in its manifest.
    #[serde(flatten)]
    location: Option<Location>,
    /// The snippet of the ConfigMap that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<Snippet>,
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// Reports about that Ingress; without one, about those that name the host.
    reports: Vec<&'a Report>,
    /// Documents that cannot be read: what they say of the request is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<&'a Problem>,
}

/// A snippet of the ConfigMap.
#[derive(Serialize)]
struct Snippet {
    object: String,
    field: String,
    #[serde(flatten)]
    location: Option<Location>,
}

/// Reads, explains, prints.
pub(crate) fn explain(args: &Explain) -> anyhow::Result<()> {
    Ok(output::print(&text(args)?)?)
}

fn text(args: &Explain) -> anyhow::Result<String> {
    let request = Request::parse(&args.url, &args.request, &args.header)?;
    let options = options::translation(&args.translation, &args.listeners, []);
    let reading: Reading = match args.source.origin(is_in_cluster())? {
        ObjectSource::Files(folder) => read_inputs(&[Input::Path(folder)])?,
        ObjectSource::Kube => cluster_events::read(&args.source, &options)?.into(),
    };
    let objects = Objects {
        collected: reading.events.into_iter().collect(),
        places: reading.places,
    };
    let translation = translate(&objects.collected.resources, &options);
    let explanation = sluice_explain::explain(translation.config(), &request);
    let config_map = options.configmap.as_ref();
    let answer = objects.answer(&request, &explanation, &translation, config_map);
    Ok(match args.output {
        ExplainOutput::Text => answer.text(),
        ExplainOutput::Json => serde_json::to_string_pretty(&answer)? + "\n",
    })
}

/// Everything that was read.
struct Objects {
    collected: Collected,
    places: Places,
}

impl Objects {
    fn answer<'a>(
        &'a self,
        request: &Request,
        explanation: &'a Explanation,
        translation: &'a Translation,
        config_map: Option<&ObjectKey>,
    ) -> Answer<'a> {
        let snippet = explanation.answered_by.zip(config_map);
        let snippet = snippet.map(|(snippet, key)| self.snippet(snippet, key));
        let route = explanation.route.as_ref().filter(|it| !it.of_operator);
        let owner = route.and_then(|route| translation.owners().get(&route.id));
        let object = owner.map(ingress);
        let location = object.as_ref().zip(route).and_then(|(object, route)| {
            let server = explanation.server.as_deref().unwrap_or_default();
            let field = self.field(&object.key, server, &route.path);
            self.places.find(object, &field.unwrap_or_default())
        });
        // Of who serves it, or else of who would like to.
        let asked: Vec<ObjectRef> = match &object {
            Some(object) => vec![object.clone()],
            None => self.naming(&request.host).collect(),
        };
        let is_asked = |report: &&Report| asked.contains(&report.object);
        let problems = self.collected.problems.iter();
        Answer {
            request: request.to_string(),
            ingress: owner.map(ToString::to_string),
            location,
            snippet,
            explanation,
            reports: translation.reports().into_iter().filter(is_asked).collect(),
            unread: problems.filter(|problem| !problem.harmless).collect(),
        }
    }

    fn snippet(&self, snippet: OperatorSnippet, key: &ObjectKey) -> Snippet {
        let object = ObjectRef {
            kind: Kind::ConfigMap,
            key: key.clone(),
        };
        let field = format!("data.{}", snippet.key());
        Snippet {
            object: object.to_string(),
            location: self.places.find(&object, &field),
            field,
        }
    }

    /// Ingresses with a rule for a host.
    fn naming(&self, host: &str) -> impl Iterator<Item = ObjectRef> {
        let names = move |rule: &str| {
            let wildcard = rule.strip_prefix('*');
            rule == host || wildcard.is_some_and(|suffix| host.ends_with(suffix))
        };
        let all = self.collected.ingresses.iter();
        all.filter(move |object| {
            let Object::Ingress(it) = object else {
                return false;
            };
            let rules = it.spec.as_ref().and_then(|spec| spec.rules.as_ref());
            let mut hosts = rules.into_iter().flatten().map(|rule| rule.host.as_deref());
            hosts.any(|host| host.is_some_and(names))
        })
        .map(|object| ingress(&object.key()))
    }

    /// Field of an Ingress with this path: on this server if it is there, or else on another one, whose alias it is.
    fn field(&self, ingress: &ObjectKey, server: &str, path: &PathMatch) -> Option<String> {
        let mut all = self.collected.ingresses.iter();
        let it = all.find_map(|object| match object {
            Object::Ingress(it) if object.key() == *ingress => Some(it),
            _ => None,
        })?;
        let rules = it.spec.as_ref()?.rules.as_ref()?;
        let fields = rules.iter().enumerate().filter_map(|(n, rule)| {
            let mut paths = rule.http.as_ref()?.paths.iter();
            let place = paths.position(|it| it.path.as_deref() == Some(path.text()))?;
            let is_server = rule.host.as_deref().unwrap_or("_") == server;
            Some((is_server, format!("spec.rules[{n}].http.paths[{place}]")))
        });
        let fields: Vec<(bool, String)> = fields.collect();
        let best = fields.iter().find(|(is_server, _)| *is_server);
        best.or(fields.first()).map(|(_, field)| field.clone())
    }
}

fn ingress(key: &ObjectKey) -> ObjectRef {
    ObjectRef {
        kind: Kind::Ingress,
        key: key.clone(),
    }
}

fn place(location: Option<&Location>) -> String {
    let place = location.map(|at| format!("  ({}:{})", at.file, at.line));
    place.unwrap_or_default()
}

impl Answer<'_> {
    fn text(&self) -> String {
        let mut lines = vec![("request", self.request.clone())];
        lines.extend(sluice_explain::way(self.explanation));
        lines.extend(self.ingress.iter().map(|ingress| {
            let place = place(self.location.as_ref());
            ("ingress", format!("{ingress}{place}"))
        }));
        lines.extend(self.snippet.iter().map(|snippet| {
            let place = place(snippet.location.as_ref());
            let Snippet { object, field, .. } = snippet;
            ("answered by", format!("{object} {field}{place}"))
        }));
        lines.extend(sluice_explain::end(&self.explanation.outcome, &ids::shown));
        lines.extend(self.reports.iter().map(|report| {
            let severity = match report.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            (
                severity,
                format!(
                    "{}: {}; {}",
                    report.field, report.reason, report.consequence
                ),
            )
        }));
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
}

#[cfg(test)]
mod tests;
