mod dashboard;
mod global_headers;
mod reasons;
mod written_paths;

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
listener     https, port 8443
host         shop.example
path         /api/(.*) (pattern)
ingress      default/shop  (shop.yaml:16)
policy       nginx.ingress.kubernetes.io/rewrite-target: \"/v2/$1\"  (Ingress default/shop, shop.yaml:7)
policy       nginx.ingress.kubernetes.io/whitelist-source-range: \"10.0.0.0/8\"  (Ingress default/shop, shop.yaml:8)
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
        "request      POST http://b.example/\nlistener     http, port 8080\nhost         any other host\nresponse     404\n"
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

/// Of everything that a request meets: where it is written.
#[test]
fn services_endpoints_certificates_and_reports_have_their_lines() {
    let manifests = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: default
  annotations:
    nginx.ingress.kubernetes.io/proxy-body-size: much
    nginx.ingress.kubernetes.io/proxy-cookie-path: one-word
spec:
  ingressClassName: nginx
  rules:
    - host: shop.example
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: default }
spec: { ports: [{ port: 80 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: default, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [10.0.0.1] }]
";
    let text = explained_of(manifests, "shop.example/", &[]);
    for expected in [
        "backend      Service default/web port 80  (shop.yaml:17)\n",
        "endpoints    EndpointSlice default/web-1  (shop.yaml:22)\n",
        "annotation ignored  (shop.yaml:7)\n",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

/// As `sluice lint` says it.
#[test]
fn reports_are_in_the_words_of_lint() {
    // Of a Service that is missing lint says that it is not among the manifests, explain what these answer.
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: { name: web, namespace: default }\nspec: { ports: [{ port: 80 }] }\n";
    let manifests = MANIFESTS.replace("rewrite-target: /v2/$1", "nope: \"1\"") + service;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.yaml"), &manifests).unwrap();
    let place = folder.path().display().to_string();
    for data_plane in ["envoy", "nginx"] {
        let words = [
            "sluice",
            "lint",
            &place,
            "--data-plane",
            data_plane,
            "-o",
            "json",
        ];
        let args = Args::parse_from_words(words.iter()).unwrap();
        let Command::Lint(lint) = args.command else {
            panic!("another command")
        };
        let linted = crate::lint::text(&lint).unwrap();
        let linted: Value = serde_json::from_str(&linted).unwrap();
        let flags = ["--data-plane", data_plane];
        let text = explained_of(&manifests, "shop.example/old", &flags);
        let unchanged = "note         annotation nope: ";
        let no_better = "; ingress-nginx does not honour it either  (shop.yaml:7)";
        assert!(
            text.contains(unchanged) && text.contains(no_better),
            "{text}"
        );
        for remark in linted["ingresses"][0]["remarks"].as_array().unwrap() {
            let word = |name: &str| remark[name].as_str().unwrap_or_default();
            let said = format!(
                "{:<12} {}: {}",
                word("severity"),
                word("field"),
                word("text")
            );
            // Hints are about the object, whatever the request.
            assert!(
                remark.get("code").is_none() || text.contains(&said),
                "{said}: {text}"
            );
        }
    }
}

#[test]
fn what_is_no_host_is_an_error() {
    let explain = |url: &str| {
        let words = ["sluice", "explain", url, "--manifests", "/nothing"];
        let Command::Explain(explain) = Args::parse_from_words(words.iter()).unwrap().command
        else {
            panic!("another command")
        };
        super::text(&explain).unwrap_err().to_string()
    };
    assert!(explain("foo bar").contains("expected a host of letters"));
}

const CONFIG_MAP: &str = "\
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

const SERVER: &str = "answered by  ConfigMap sys/cm data.server-snippet  (shop.yaml:24)\n";
const LOCATION: &str = "answered by  ConfigMap sys/cm data.location-snippet  (shop.yaml:27)\n";
const SHOP: &str = "ingress      default/shop";
const OWN: &str = "ingress      default/own";

/// URL and header of a request; its Ingress, the snippet that answers, and the status.
type Answered = (
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static str,
);

const ANSWERED: &[Answered] = &[
    (
        "http://shop.example/old",
        "X-Bad: 1",
        Some(SHOP),
        Some(SERVER),
        "403",
    ),
    (
        "http://shop.example/old",
        "X-Worse: 1",
        Some(SHOP),
        Some(LOCATION),
        "402",
    ),
    (
        "http://own.example/metrics",
        "X-A: 1",
        None,
        Some(SERVER),
        "410",
    ),
    (
        "http://own.example/metrics",
        "X-Bad: 1",
        None,
        Some(SERVER),
        "403",
    ),
    ("http://own.example/metrics", "X-Own: 1", None, None, "418"),
    ("http://own.example/", "X-Own: 1", Some(OWN), None, "418"),
    (
        "http://own.example/",
        "X-Bad: 1",
        Some(OWN),
        Some(SERVER),
        "403",
    ),
];

/// Of the ConfigMap's snippets: what answers every path, a location, and what leaves the request to the Ingress.
#[test]
fn the_configmap_is_named_where_its_snippet_answers() {
    let manifests = format!("{MANIFESTS}{CONFIG_MAP}");
    let explained = |url: &str, header: &str| {
        let flags = ["--configmap", "sys/cm", "-H", header];
        explained_of(&manifests, url, &flags)
    };
    for (url, header, ingress, snippet, status) in ANSWERED {
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
    assert_eq!(json["listener"], "https");
    let setting = &json["settings"][0];
    assert_eq!(
        setting["name"],
        "nginx.ingress.kubernetes.io/rewrite-target"
    );
    assert_eq!(
        (&setting["value"], &setting["line"]),
        (&"/v2/$1".into(), &7.into())
    );
}
