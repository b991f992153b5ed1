//! Headers of the ConfigMap.

use super::{MANIFESTS, explained_of};

const CONFIG_MAPS: &str = "\
---
apiVersion: v1
kind: ConfigMap
metadata: { name: cm, namespace: sys }
data:
  proxy-set-headers: sys/to-pods
  add-headers: sys/to-clients
  hide-headers: X-Secret
  hsts-max-age: \"60\"
---
apiVersion: v1
kind: ConfigMap
metadata: { name: to-pods, namespace: sys }
data: { X-To-Pods: \"$remote_addr\", Host: pods.example }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: to-clients, namespace: sys }
data: { X-To-Clients: a }
";

const TO_PODS: [&str; 3] = [
    "to upstream  Host: pods.example\n",
    "             X-To-Pods: $remote_addr\n",
    "policy       proxy-set-headers: \"sys/to-pods\"  (ConfigMap sys/cm",
];
const OF_PODS: [&str; 2] = [
    "x-secret of pods (removed)\n",
    "policy       hide-headers: \"X-Secret\"  (ConfigMap sys/cm",
];
const TO_CLIENTS: [&str; 2] = [
    " X-To-Clients: a\n",
    "policy       add-headers: \"sys/to-clients\"  (ConfigMap sys/cm",
];
const OVER_TLS: [&str; 1] = ["policy       hsts-max-age: \"60\"  (ConfigMap sys/cm"];

/// Requests to pods, responses of the data plane itself, and one that no path takes; with TLS and without.
#[test]
fn headers_of_the_configmap_are_said_where_they_apply() {
    let manifests = format!("{MANIFESTS}{CONFIG_MAPS}").replace("    nginx.ingress.kubernetes.io/rewrite", "    nginx.ingress.kubernetes.io/ssl-redirect: \"false\"\n    nginx.ingress.kubernetes.io/rewrite");
    for plane in ["envoy", "nginx"] {
        for (url, reaches_pods) in [
            ("https://shop.example/old", true),
            ("http://shop.example/old", true),
            ("https://shop.example/none", false),
            ("http://other.example/", false),
        ] {
            let flags = ["--configmap", "sys/cm", "--data-plane", plane];
            let text = explained_of(&manifests, url, &flags);
            let expected = [
                (&TO_PODS[..], reaches_pods),
                (&OF_PODS, reaches_pods),
                (&TO_CLIENTS, true),
                (&OVER_TLS, url.starts_with("https")),
            ];
            for (lines, is_said) in expected {
                for line in lines {
                    assert_eq!(text.contains(line), is_said, "{url} {line}: {text}");
                }
            }
        }
    }
}
