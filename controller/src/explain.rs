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

/// Where a snippet of the ConfigMap is.
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
mod tests {
    use std::fs;

    use serde_json::Value;

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
        explained_of(MANIFESTS, url, flags)
    }

    fn explained_of(manifests: &str, url: &str, flags: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("shop.yaml"), manifests).unwrap();
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

    /// The same path on two hosts of one Ingress, and documents that cannot be read or are of another class.
    #[test]
    fn lines_are_those_of_the_host_and_what_is_not_served_is_named() {
        let host = |name: &str| {
            format!(
                "    - host: {name}\n      http:\n        paths:\n          - {{ path: /, pathType: Prefix, backend: {{ service: {{ name: web, port: {{ number: 80 }} }} }} }}\n"
            )
        };
        let of_class = |name: &str, class: &str, rules: &str| {
            format!(
                "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{ name: {name}, namespace: default }}\nspec:\n  ingressClassName: {class}\n  rules:\n{rules}"
            )
        };
        let manifests = [
            of_class("two", "nginx", &(host("a.example") + &host("b.example"))),
            of_class("other", "traefik", &host("c.example")),
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: { name: 1 }\n".to_owned(),
        ];
        let explained = |url| explained_of(&manifests.join("---\n"), url, &[]);
        assert!(explained("a.example").contains("default/two  (shop.yaml:10)"));
        assert!(explained("b.example").contains("default/two  (shop.yaml:14)"));
        let of_other_class = explained("c.example");
        assert!(
            of_other_class.contains("response     404"),
            "{of_other_class}"
        );
        assert!(of_other_class.contains("traefik"), "{of_other_class}");
        assert!(
            of_other_class.contains("unread       shop.yaml:"),
            "{of_other_class}"
        );
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
    fn the_backend_of_a_canary_s_request_is_named_with_its_rule() {
        let canary = "\
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: new
  namespace: default
  annotations:
    nginx.ingress.kubernetes.io/canary: \"true\"
    nginx.ingress.kubernetes.io/canary-by-header: X-Beta
    nginx.ingress.kubernetes.io/canary-by-header-pattern: v2|v3
spec:
  ingressClassName: nginx
  rules:
    - host: shop.example
      http:
        paths:
          - { path: /old, pathType: Exact, backend: { service: { name: new, port: { number: 80 } } } }
";
        let manifests = format!("{MANIFESTS}{canary}");
        let explained = |flags: &[&str]| explained_of(&manifests, "http://shop.example/old", flags);
        let selected = explained(&["-H", "X-Beta: v2"]);
        let expected = "\
upstream     /v2/
goes to      canary Service default/new port 80: header x-beta is \"v2\", which matches v2|v3
             503 for all requests: the main backend has no endpoints
canary       Service default/new port 80
             header x-beta: a value that matches v2|v3 selects it
             round_robin
";
        assert!(selected.contains(expected), "{selected}");
        let main = "goes to      main backend Service default/web port 80; canary Service default/new port 80: no rule selects it\n";
        let other = explained(&[]);
        assert!(other.contains(main), "{other}");
    }

    /// Of the ConfigMap's snippets: what answers every path, a location, and what leaves the request to the Ingress.
    #[test]
    fn the_configmap_is_named_where_its_snippet_answers() {
        let config_map = "\
---
apiVersion: v1
kind: ConfigMap
metadata: { name: cm, namespace: sys }
data:
  allow-snippet-annotations: \"true\"
  annotations-risk-level: Critical
  server-snippet: |
    if ($http_x_bad) { return 403; }
    location = /metrics { return 410; }
  location-snippet: |
    if ($http_x_worse) { return 402; }
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: own
  namespace: default
  annotations:
    nginx.ingress.kubernetes.io/server-snippet: if ($http_x_own) { return 418; }
spec:
  ingressClassName: nginx
  rules:
    - host: own.example
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
";
        let manifests = format!("{MANIFESTS}{config_map}");
        let explained = |url: &str, header: &str| {
            let flags = ["--configmap", "sys/cm", "-H", header];
            explained_of(&manifests, url, &flags)
        };
        let server = "answered by  ConfigMap sys/cm data.server-snippet  (shop.yaml:24)\n";
        let location = "answered by  ConfigMap sys/cm data.location-snippet  (shop.yaml:27)\n";
        let (shop, own) = ("ingress      default/shop", "ingress      default/own");
        for (url, header, ingress, snippet, status) in [
            (
                "http://shop.example/old",
                "X-Bad: 1",
                Some(shop),
                Some(server),
                "403",
            ),
            (
                "http://shop.example/old",
                "X-Worse: 1",
                Some(shop),
                Some(location),
                "402",
            ),
            (
                "http://own.example/metrics",
                "X-A: 1",
                None,
                Some(server),
                "410",
            ),
            (
                "http://own.example/metrics",
                "X-Bad: 1",
                None,
                Some(server),
                "403",
            ),
            ("http://own.example/metrics", "X-Own: 1", None, None, "418"),
            ("http://own.example/", "X-Own: 1", Some(own), None, "418"),
            (
                "http://own.example/",
                "X-Bad: 1",
                Some(own),
                Some(server),
                "403",
            ),
        ] {
            let text = explained(url, header);
            let response = format!("response     {status}\n");
            assert!(text.contains(&response), "{url} {header}: {text}");
            assert_eq!(
                text.contains("answered by"),
                snippet.is_some(),
                "{url} {header}: {text}"
            );
            assert!(
                text.contains(snippet.unwrap_or_default()),
                "{url} {header}: {text}"
            );
            assert_eq!(
                text.contains("ingress "),
                ingress.is_some(),
                "{url} {header}: {text}"
            );
            assert!(
                text.contains(ingress.unwrap_or_default()),
                "{url} {header}: {text}"
            );
        }
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
