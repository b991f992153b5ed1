//! Paths as their owners have written them.

use super::{CONFIG_MAP, explained_of};

/// Paths that data planes match in other words, of rules and of a snippet.
pub(super) const IN_OTHER_WORDS: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: own
  namespace: default
  annotations:
    nginx.ingress.kubernetes.io/use-regex: "true"
    nginx.ingress.kubernetes.io/server-snippet: |
      location ~ (?i)^/status$ { return 204; }
      location ^~ /raw/ { return 204; }
spec:
  ingressClassName: nginx
  defaultBackend: { service: { name: web, port: { number: 80 } } }
  rules:
    - host: own.example
      http:
        paths:
          - pathType: ImplementationSpecific
            path: /api/(?!internal)(.*)
            backend: { service: { name: web, port: { number: 80 } } }
          - pathType: ImplementationSpecific
            path: /u/([^/]++)/x
            backend: { service: { name: web, port: { number: 80 } } }
          - pathType: Exact
            path: /shop
            backend: { service: { name: web, port: { number: 80 } } }
"#;

/// Not the one that stands in its place: who wrote the path will look for it.
#[test]
fn a_path_is_shown_as_it_is_written_with_its_line() {
    let map = CONFIG_MAP.split("---").nth(1).unwrap_or_default();
    let map = map.replace("location = /metrics { return 410; }", "");
    let manifests = format!("{}---{map}", IN_OTHER_WORDS.trim_start());
    for (path, expected, line) in [
        ("/api/x", "/api/(?!internal)(.*) (pattern)", 19),
        ("/u/me/x", "/u/([^/]++)/x (pattern)", 22),
        ("/shop", "/shop (pattern)", 25),
        ("/Status", "location ~ (?i)^/status$", 8),
        ("/raw/x", "location ^~ /raw/", 8),
        ("/other", "/ (pattern)", 13),
    ] {
        let flags = ["--configmap", "sys/cm", "--data-plane", "nginx"];
        for flags in [flags, ["--configmap", "sys/cm", "--data-plane", "envoy"]] {
            let url = format!("https://own.example{path}");
            let text = explained_of(&manifests, &url, &flags);
            let [path, ingress] = [
                format!("path         {expected}\n"),
                format!("ingress      default/own  (shop.yaml:{line})\n"),
            ];
            assert!(text.contains(&path) && text.contains(&ingress), "{text}");
        }
    }
}
