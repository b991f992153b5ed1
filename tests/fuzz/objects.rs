//! Objects of a tenant, with anything in every string of them; and a neighbour, who writes nothing odd.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use sluice_tests::hostile::TEXTS;
use sluice_translate::annotations::GROUPS;

/// The neighbour's.
pub(crate) const HOST: &str = "neighbour.test";
pub(crate) const NAMESPACE: &str = "next-door";

const TENANT: &str = "tenant";
const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Parts of which something is made that looks right for longer.
const PARTS: &[&str] = &[
    "/",
    "a",
    "web",
    "tenant",
    "settings",
    "shop.test",
    "*.shop.test",
    "1",
    "80",
    "8m",
    "30s",
    "true",
    "cookie",
    "$1",
    "$request_uri",
    "$http_x_a",
    "${host}",
    "(/|$)(.*)",
    "[a-z]+",
    "^",
    "http://",
    "https://",
    "10.0.0.0/8",
    ",",
    ";",
    "\"",
    "'",
    "{",
    "}",
    "\n",
    "\r\n",
    "#",
    "\\",
    " ",
    ":",
    "=",
    "@",
    "\u{0}",
    "\u{fe}",
    "%",
    "~*",
    "default/",
    "Bearer ",
    "GRPC",
    "basic",
    "balanced",
    "ewma",
    "rewrite",
    "return 200",
    "proxy_pass",
];

/// Any text: a known one, one of known parts, or one of anything.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => select(TEXTS).prop_map(str::to_owned),
        3 => prop::collection::vec(select(PARTS), 1..6).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
    ]
}

/// Mostly what belongs there, so that the rest of the object counts.
fn or_text(usual: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![3 => Just(usual.to_owned()), 1 => text()]
}

/// One application: its Ingress, and what that names.
pub(crate) fn tenant() -> impl Strategy<Value = Vec<Value>> {
    (
        ingress(),
        service(),
        slice(),
        pod(),
        named("Secret", "settings"),
        named("ConfigMap", "settings"),
    )
        .prop_map(|(ingress, service, slice, pod, secret, map)| {
            vec![ingress, service, slice, pod, secret, map]
        })
}

fn annotations() -> impl Strategy<Value = Map<String, Value>> {
    let names: Vec<&str> = GROUPS
        .iter()
        .flat_map(|group| group.annotations)
        .map(|known| known.name)
        .collect();
    let one = (select(names), text()).prop_map(|(name, text)| {
        let key = if name.contains('/') {
            name.to_owned()
        } else {
            format!("{PREFIX}/{name}")
        };
        (key, json!(text))
    });
    prop::collection::vec(one, 0..12).prop_map(|all| all.into_iter().collect())
}

fn metadata(name: &'static str) -> impl Strategy<Value = Value> {
    (or_text(name), text(), annotations(), text()).prop_map(|(name, uid, annotations, label)| {
        json!({
            "namespace": TENANT, "name": name, "uid": uid, "annotations": annotations, "labels": { "any": label },
            "creationTimestamp": "2024-01-01T00:00:00Z",
        })
    })
}

fn ingress() -> impl Strategy<Value = Value> {
    let path = prop_oneof![3 => Just("/a".to_owned()), 1 => text()];
    let place = (
        or_text("shop.test"),
        path,
        or_text("Prefix"),
        or_text("web"),
        or_text("http"),
    );
    (
        metadata("web"),
        place,
        or_text("shop.test"),
        or_text("settings"),
    )
        .prop_map(|(metadata, place, tls, secret)| {
            let (host, path, path_type, service, port) = place;
            let backend = json!({ "service": { "name": service, "port": { "name": port } } });
            json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
                "spec": {
                    "ingressClassName": "nginx",
                    "tls": [{ "hosts": [tls], "secretName": secret }],
                    "rules": [{ "host": host, "http": { "paths": [
                        { "path": path, "pathType": path_type, "backend": backend },
                    ] } }],
                },
            })
        })
}

fn service() -> impl Strategy<Value = Value> {
    let spec = (
        or_text("http"),
        or_text("ClusterIP"),
        text(),
        or_text("10.96.0.7"),
    );
    (metadata("web"), spec).prop_map(|(metadata, (port, service_type, external, address))| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {
                "type": service_type, "externalName": external, "clusterIP": address,
                "ports": [{ "name": port, "port": 80, "targetPort": "http" }],
            },
        })
    })
}

fn slice() -> impl Strategy<Value = Value> {
    let endpoint = (or_text("10.0.0.1"), text(), or_text("web-0"));
    (metadata("web"), or_text("http"), endpoint).prop_map(|(mut metadata, port, (address, zone, pod))| {
        metadata["labels"]["kubernetes.io/service-name"] = "web".into();
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, "addressType": "IPv4",
            "ports": [{ "name": port, "port": 8080 }],
            "endpoints": [{
                "addresses": [address], "conditions": { "ready": true }, "zone": zone,
                "targetRef": { "kind": "Pod", "namespace": TENANT, "name": pod },
            }],
        })
    })
}

/// The role that a pod sets for itself.
fn pod() -> impl Strategy<Value = Value> {
    let weight = prop_oneof![
        select(vec!["0", "1", "1000"]).prop_map(str::to_owned),
        text()
    ];
    (metadata("web-0"), weight, or_text("true")).prop_map(|(mut metadata, weight, backup)| {
        metadata["annotations"] =
            json!({ "sluice.dev/weight": weight, "sluice.dev/backup": backup });
        json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata })
    })
}

/// A Secret or a ConfigMap, which Ingresses name.
fn named(kind: &'static str, name: &'static str) -> impl Strategy<Value = Value> {
    let keys = select(vec![
        "tls.crt",
        "tls.key",
        "ca.crt",
        "ca.crl",
        "auth",
        "x-header",
        "Set-Cookie",
        "any",
    ]);
    let data = prop::collection::vec(
        (prop_oneof![keys.prop_map(str::to_owned), text()], text()),
        0..4,
    );
    (metadata(name), data).prop_map(move |(metadata, data)| {
        let data: Map<String, Value> = data
            .into_iter()
            .map(|(key, text)| (key, json!(text)))
            .collect();
        // A Secret's texts are base64 when they come from an API server; manifests may have them as they are.
        let field = if kind == "Secret" {
            "stringData"
        } else {
            "data"
        };
        json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata, field: data })
    })
}

/// An application of its own, in a namespace of its own, older than the tenants'.
pub(crate) fn neighbour() -> Vec<Value> {
    let metadata = |name: &str| json!({ "namespace": NAMESPACE, "name": name, "creationTimestamp": "2020-01-01T00:00:00Z" });
    let mut labelled = metadata("web");
    labelled["labels"] = json!({ "kubernetes.io/service-name": "web" });
    let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
    vec![
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata("web"),
            "spec": { "ingressClassName": "nginx", "rules": [{ "host": HOST, "http": { "paths": [
                { "path": "/", "pathType": "Prefix", "backend": backend },
            ] } }] },
        }),
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata("web"),
            "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": 8080 }] },
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": labelled, "addressType": "IPv4",
            "ports": [{ "name": "http", "port": 8080 }],
            "endpoints": [{ "addresses": ["10.9.9.9"], "conditions": { "ready": true } }],
        }),
    ]
}
