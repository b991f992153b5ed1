//! The command `sluice explain`: what becomes of one request, by [`sluice_explain`], and which objects say so.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;
use sluice_explain::{Backend, Explanation, Outcome, Request};
use sluice_ir::PathMatch;
use sluice_kube::is_in_cluster;
use sluice_source::{Event, Input, Location, Places, Reading, read_inputs};
use sluice_translate::{
    Kind, Object, ObjectKey, ObjectRef, Report, Resources, Severity, Translation, ids, translate,
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
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// Reports about that Ingress.
    reports: Vec<&'a Report>,
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
    let objects = Objects::new(reading);
    let translation = translate(&objects.resources, &options);
    let explanation = sluice_explain::explain(translation.config(), &request);
    let answer = objects.answer(&request, &explanation, &translation);
    Ok(match args.output {
        ExplainOutput::Text => answer.text(),
        ExplainOutput::Json => serde_json::to_string_pretty(&answer)? + "\n",
    })
}

/// Everything that was read.
struct Objects {
    resources: Resources,
    /// For the places of their paths.
    ingresses: Vec<Object>,
    places: Places,
}

impl Objects {
    fn new(reading: Reading) -> Objects {
        let mut resources = Resources::default();
        let mut ingresses = Vec::new();
        for event in reading.events {
            match event {
                Event::Apply(object) => {
                    if let Object::Ingress(_) = &object {
                        ingresses.push(object.clone());
                    }
                    drop(resources.apply(object));
                }
                Event::Delete(kind, key) => drop(resources.delete(kind, &key)),
                Event::IngressClassesForbidden => resources.forbid_ingress_classes(),
                Event::Machines(addresses) => drop(resources.know_machines(addresses)),
                // Unreadable documents are what `sluice lint` is for.
                Event::Problem(_) | Event::Ready => {}
            }
        }
        Objects {
            resources,
            ingresses,
            places: reading.places,
        }
    }

    fn answer<'a>(
        &self,
        request: &Request,
        explanation: &'a Explanation,
        translation: &'a Translation,
    ) -> Answer<'a> {
        let route = explanation.route.as_ref();
        let owner = route.and_then(|route| translation.owners().get(&route.id));
        let object = owner.map(|key| ObjectRef {
            kind: Kind::Ingress,
            key: key.clone(),
        });
        let location = object.as_ref().zip(route).and_then(|(object, route)| {
            let field = self.field(&object.key, &route.path).unwrap_or_default();
            self.places.find(object, &field)
        });
        let of_owner = |report: &&Report| Some(&report.object) == object.as_ref();
        Answer {
            request: request.to_string(),
            ingress: owner.map(ToString::to_string),
            location,
            explanation,
            reports: translation.reports().into_iter().filter(of_owner).collect(),
        }
    }

    /// Field of an Ingress with this path.
    fn field(&self, ingress: &ObjectKey, path: &PathMatch) -> Option<String> {
        let rules = self.ingresses.iter().find_map(|object| match object {
            Object::Ingress(it)
                if it.metadata.name.as_deref() == Some(ingress.name.as_str())
                    && it.metadata.namespace.as_deref() == Some(ingress.namespace.as_str()) =>
            {
                it.spec.as_ref()?.rules.as_ref()
            }
            _ => None,
        })?;
        rules.iter().enumerate().find_map(|(n, rule)| {
            let paths = &rule.http.as_ref()?.paths;
            let is_it = |it: &str| it == path.text();
            let position = paths
                .iter()
                .position(|it| it.path.as_deref().is_some_and(is_it))?;
            Some(format!("spec.rules[{n}].http.paths[{position}]"))
        })
    }
}

impl Answer<'_> {
    fn text(&self) -> String {
        let mut lines = vec![("request", self.request.clone())];
        let explanation = self.explanation;
        lines.extend(explanation.server.as_ref().map(|name| {
            let name = if name == "_" { "any other host" } else { name };
            ("host", name.to_owned())
        }));
        let certificate = explanation.certificate.as_ref();
        lines.extend(certificate.map(|id| ("certificate", id.clone())));
        let clients = explanation.client_certificates.as_ref();
        lines.extend(clients.map(|clients| ("clients", json(&clients))));
        if let Some(route) = &explanation.route {
            let path = match &route.path {
                PathMatch::Exact(path) => format!("{path} (exact)"),
                PathMatch::Prefix(path) => format!("{path} (prefix)"),
                PathMatch::Regex(regex) => format!("{} (pattern)", regex.pattern),
            };
            lines.push(("path", path));
            let policies = route.policies.iter();
            lines.extend(policies.map(|(name, value)| ("policy", format!("{name} {value}"))));
            lines.extend(route.filters.iter().map(|filter| ("headers", json(filter))));
        }
        lines.extend(self.ingress.iter().map(|ingress| {
            let place = self.location.as_ref();
            let place = place.map(|at| format!("  ({}:{})", at.file, at.line));
            ("ingress", format!("{ingress}{}", place.unwrap_or_default()))
        }));
        lines.extend(outcome(&explanation.outcome));
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
        lines
            .into_iter()
            .fold(String::new(), |mut text, (name, value)| {
                // A String takes everything.
                let _ = writeln!(text, "{name:<12} {value}");
                text
            })
    }
}

fn outcome(outcome: &Outcome) -> Vec<(&'static str, String)> {
    match outcome {
        Outcome::Respond { status } => vec![("response", status.to_string())],
        Outcome::Denied => vec![(
            "response",
            "503: access control that cannot be enforced".to_owned(),
        )],
        Outcome::Redirect { status, location } => {
            vec![("response", format!("{status} to {location}"))]
        }
        Outcome::Passthrough { backend } => of_backend("passthrough", backend),
        Outcome::Forward {
            path,
            backends,
            canaries,
        } => {
            let mut lines = vec![("upstream", path.clone())];
            for canary in canaries {
                lines.extend(of_backend("canary", &canary.backend));
                lines.push(("", format!("takes {}", json(&canary.rules))));
            }
            lines.extend(
                backends
                    .iter()
                    .flat_map(|backend| of_backend("backend", backend)),
            );
            lines
        }
    }
}

fn of_backend(name: &'static str, backend: &Backend) -> Vec<(&'static str, String)> {
    let id = sluice_ir::BackendId::new(backend.id.as_str());
    let service =
        ids::service_of(&id).map(|(service, port)| format!("Service {service} port {port}"));
    let mut lines = vec![(name, service.unwrap_or_else(|| backend.id.clone()))];
    let Some(settings) = &backend.settings else {
        return lines;
    };
    if backend.weight != 1 {
        lines.push(("", format!("weight {}", backend.weight)));
    }
    let affinity = settings.affinity.as_ref();
    let sticky = affinity.map(|affinity| format!(", sticky {}", json(affinity)));
    lines.push((
        "",
        format!(
            "{}{}",
            json(&settings.load_balance).trim_matches('"'),
            sticky.unwrap_or_default()
        ),
    ));
    if settings.endpoints.is_empty() {
        lines.push(("", "no endpoints: 503".to_owned()));
    }
    lines.extend(settings.endpoints.iter().map(|endpoint| {
        let state = if endpoint.draining { " (draining)" } else { "" };
        ("", format!("{}{state}", endpoint.address))
    }));
    lines
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .as_ref()
        .map_or_else(ToString::to_string, Value::to_string)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::args::{Args, Command};

    const MANIFESTS: &str = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: default
  annotations:
    nginx.ingress.kubernetes.io/rewrite-target: /v2/$1
    nginx.ingress.kubernetes.io/whitelist-source-range: 10.0.0.0/8
spec:
  ingressClassName: nginx
  rules:
    - host: shop.example
      http:
        paths:
          - { path: /old, pathType: Exact, backend: { service: { name: web, port: { number: 80 } } } }
          - { path: /api/(.*), pathType: ImplementationSpecific, backend: { service: { name: web, port: { number: 80 } } } }
";

    fn explained(url: &str, flags: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("shop.yaml"), MANIFESTS).unwrap();
        let place = folder.path().display().to_string();
        let words = ["sluice", "explain", url, "--manifests", &place];
        let args = Args::parse_from_words(words.iter().chain(flags)).unwrap();
        let Command::Explain(explain) = args.command else {
            panic!("another command")
        };
        text(&explain).unwrap().replace(&format!("{place}/"), "")
    }

    #[test]
    fn a_request_has_its_route_its_policies_and_the_line_that_says_so() {
        let text = explained("https://shop.example/api/x?y=1", &[]);
        let expected = "\
request      GET https://shop.example/api/x?y=1
host         shop.example
path         /api/(.*) (pattern)
policy       ip_access {\"allow\":[\"10.0.0.0/8\"]}
ingress      default/shop  (shop.yaml:16)
upstream     /v2/x?y=1
backend      Service default/web port 80
             round_robin
             no endpoints: 503
error        ";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn who_is_not_known_gets_404() {
        let text = explained("b.example/", &["-X", "POST"]);
        assert_eq!(
            text,
            "request      POST http://b.example/\nhost         any other host\nresponse     404\n"
        );
    }

    #[test]
    fn json_has_the_same() {
        let text = explained("https://shop.example/old", &["-o", "json"]);
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["ingress"], "default/shop");
        assert_eq!(
            (&json["file"], &json["line"]),
            (&"shop.yaml".into(), &15.into())
        );
        assert_eq!(json["outcome"]["forward"]["path"], "/v2/");
    }
}
