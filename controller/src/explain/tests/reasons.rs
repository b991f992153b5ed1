//! Why a request is not served, and which annotation sends it elsewhere.

use super::explained_of;

pub(super) const MANIFESTS: &str = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: php
  namespace: default
  annotations:
    nginx.ingress.kubernetes.io/backend-protocol: FCGI
    nginx.ingress.kubernetes.io/auth-url: http://auth.default.svc/check
    nginx.ingress.kubernetes.io/mirror-target: http://copy.default.svc$request_uri
    nginx.ingress.kubernetes.io/limit-rps: '5'
spec:
  ingressClassName: nginx
  rules:
    - host: php.example
      http:
        paths:
          - { path: /app, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
          - { path: /old, pathType: Exact, backend: { service: { name: web, port: { number: 80 } } } }
";

/// Of an Ingress with three broken paths, a request hears of those that may have taken it.
#[test]
fn reports_of_paths_that_other_requests_are_for_are_not_listed() {
    let path = |path: &str| {
        format!(
            "          - {{ path: {path}, pathType: Prefix, backend: {{ service: {{ name: web, port: {{ number: 80 }} }} }} }}\n"
        )
    };
    let (start, _) = MANIFESTS.split_once("          - ").unwrap();
    let start = start.replace("FCGI", "HTTP");
    let manifests = start + &path("/") + &path("\"/a;b\"") + &path("\"/c;d\"");
    let errors = |url: &str| -> Vec<String> {
        let text = explained_of(&manifests, url, &[]);
        let errors = text.lines().filter(|line| line.starts_with("error"));
        let fields = errors.filter_map(|line| line.split_once("http.")?.1.split_once(':'));
        fields.map(|(field, _)| field.to_owned()).collect()
    };
    for (url, others) in [
        ("php.example/", vec!["paths[1]", "paths[2]"]),
        ("php.example/a;b", vec!["paths[2]"]),
    ] {
        let said = errors(url);
        for other in others {
            assert!(
                !said.iter().any(|field| field.starts_with(other)),
                "{url}: {said:?}"
            );
        }
        assert!(!said.is_empty(), "{url}");
    }
}

#[test]
fn a_path_that_means_nothing_says_so() {
    for path in ["%zz", "%00", "../.."] {
        let text = explained_of(MANIFESTS, &format!("php.example/{path}"), &[]);
        let expected = "path         it means nothing: a % without two hex digits, %00, or more .. than there are segments\n";
        assert!(
            text.contains(expected) && text.contains("response     400\n"),
            "{text}"
        );
    }
}

#[test]
fn paths_that_are_closed_for_their_protocol_say_so() {
    let text = explained_of(MANIFESTS, "php.example/app", &["--data-plane", "envoy"]);
    let expected =
        "response     503: Envoy does not speak FastCGI to upstreams (--data-plane nginx does)\n";
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains("access control"), "{text}");
    // What closes another path of the same Ingress is no reason here, and neither is what only may be access control.
    let beside = MANIFESTS
        .replace("FCGI", "HTTP")
        .replace("path: /old", "path: /o;ld");
    let text = explained_of(&beside, "php.example/app", &["--data-plane", "envoy"]);
    assert!(!text.contains("503: "), "{text}");
    let guarded = MANIFESTS.replace("http://auth.default.svc/check", "ftp://auth/");
    let text = explained_of(&guarded, "php.example/app", &["--data-plane", "envoy"]);
    let expected = "response     503: access control that cannot be enforced\n";
    assert!(text.contains(expected), "{text}");
}

/// As for `sluice lint` and `sluice run`, so that no backend is shown beside an error that says 503.
#[test]
fn the_data_plane_is_envoy_where_nobody_says_another() {
    let said = explained_of(MANIFESTS, "php.example/app", &[]);
    let on_envoy = explained_of(MANIFESTS, "php.example/app", &["--data-plane", "envoy"]);
    assert_eq!(said, on_envoy);
    assert!(!said.contains("backend  "), "{said}");
}

#[test]
fn a_path_that_nothing_matches_is_said_with_those_of_the_host() {
    let said = |url: &str, plane: &str| explained_of(MANIFESTS, url, &["--data-plane", plane]);
    let path = "path         none matches; the host has /old (exact), /app (prefix)\n";
    for plane in ["envoy", "nginx"] {
        let text = said("php.example/nothing", plane);
        assert!(text.contains(path), "{text}");
        assert!(!said("php.example/app", plane).contains("none matches"));
    }
    assert!(said("php.example/nothing", "nginx").contains("response     404\n"));
    let json = explained_of(MANIFESTS, "php.example/nothing", &["-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["no_path_of"],
        serde_json::json!(["/old (exact)", "/app (prefix)"])
    );
}

#[test]
fn services_that_are_asked_or_copied_to_and_limits_have_words_of_their_own() {
    let text = explained_of(MANIFESTS, "php.example/app", &["--data-plane", "nginx"]);
    for line in [
        "auth         nginx.ingress.kubernetes.io/auth-url: \"http://auth.default.svc/check\"  (Ingress default/php, shop.yaml:8)\n",
        "mirror       nginx.ingress.kubernetes.io/mirror-target: \"http://copy.default.svc$request_uri\"  (Ingress default/php, shop.yaml:9)\n",
        "limit        nginx.ingress.kubernetes.io/limit-rps: \"5\"  (Ingress default/php, shop.yaml:10)\n",
        "policy       nginx.ingress.kubernetes.io/backend-protocol: \"FCGI\"  (Ingress default/php, shop.yaml:7)\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
