//! Applications as people write them: values of each annotation's own grammar, up to its limits and a little beyond, many of
//! them at a time.

mod annotations;
mod operator;
mod secrets;
mod texts;
mod values;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

pub(crate) use operator::{CONFIGMAP, TCP, UDP, operator};
use texts::{header_map, host, path};

/// Two that do not trust each other.
const NAMESPACES: &[&str] = &["tenant", "other"];
const NAMES: &[&str] = &["web", "shop", "api", "admin"];

/// An application: its Ingresses, and what they name.
pub(crate) fn application() -> impl Strategy<Value = Vec<Value>> {
    (select(NAMESPACES), select(NAMES)).prop_flat_map(|(namespace, name)| {
        let ingresses = prop::collection::vec(ingress(namespace, name), 1..4);
        (
            ingresses,
            service(namespace),
            slice(namespace),
            secrets::secrets(namespace),
            maps(namespace),
        )
            .prop_map(|(ingresses, service, slice, secrets, maps)| {
                let others = [service, slice].into_iter().chain(secrets).chain(maps);
                let named = ingresses
                    .into_iter()
                    .enumerate()
                    .map(|(number, mut ingress)| {
                        let name = ingress["metadata"]["name"]
                            .as_str()
                            .unwrap_or_default()
                            .to_owned();
                        ingress["metadata"]["name"] = json!(format!("{name}-{number}"));
                        ingress
                    });
                named.chain(others).collect()
            })
    })
}

fn metadata(namespace: &str, name: &str) -> Value {
    json!({ "namespace": namespace, "name": name })
}

fn ingress(namespace: &'static str, name: &'static str) -> impl Strategy<Value = Value> {
    let rules = prop::collection::vec(rule(), 0..4);
    let tls = prop::collection::vec((host(), select(secrets::NAMES)), 0..3);
    let default = prop::option::weighted(0.2, backend());
    let second = 0..60u8;
    (annotations::annotations(), rules, tls, default, second).prop_map(
        move |(annotations, rules, tls, default, second)| {
            let tls: Vec<Value> = tls
                .into_iter()
                .map(|(host, secret)| json!({ "hosts": [host], "secretName": secret }))
                .collect();
            let mut metadata = metadata(namespace, name);
            metadata["annotations"] = annotations.into();
            metadata["creationTimestamp"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
            json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
                "spec": { "ingressClassName": "nginx", "tls": tls, "rules": rules, "defaultBackend": default },
            })
        },
    )
}

fn rule() -> impl Strategy<Value = Value> {
    let kind = select(&["Exact", "Prefix", "ImplementationSpecific"][..]);
    let paths = prop::collection::vec((path(), kind, backend()), 0..6);
    (host(), paths).prop_map(|(host, paths)| {
        let paths: Vec<Value> = paths
            .into_iter()
            .map(|(path, kind, backend)| json!({ "path": path, "pathType": kind, "backend": backend }))
            .collect();
        json!({ "host": host, "http": { "paths": paths } })
    })
}

fn backend() -> impl Strategy<Value = Value> {
    let port = select(vec![
        json!({ "number": 80 }),
        json!({ "name": "http" }),
        json!({ "number": 81 }),
    ]);
    (
        select(&["svc", "svc", "svc", "missing", "outside"][..]),
        port,
    )
        .prop_map(|(name, port)| json!({ "service": { "name": name, "port": port } }))
}

/// `svc` has pods, `outside` is a name of somebody else's.
fn service(namespace: &'static str) -> impl Strategy<Value = Value> {
    select(&["ClusterIP", "ClusterIP", "ExternalName", "Headless"][..]).prop_map(move |kind| {
        let spec = match kind {
            "ExternalName" => json!({ "type": "ExternalName", "externalName": "pods.example.com" }),
            "Headless" => json!({ "clusterIP": "None", "ports": [{ "name": "http", "port": 80 }] }),
            _ => json!({ "clusterIP": "10.96.0.7", "ports": [
                { "name": "http", "port": 80, "targetPort": "http" }, { "name": "more", "port": 81 },
            ] }),
        };
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata(namespace, "svc"), "spec": spec })
    })
}

fn slice(namespace: &'static str) -> impl Strategy<Value = Value> {
    let address = select(
        &[
            "10.0.0.1",
            "10.0.0.2",
            "10.255.255.255",
            "192.168.0.9",
            "fd00::1",
            "::ffff:10.0.0.1",
        ][..],
    );
    let endpoint = (address, any::<bool>(), any::<bool>());
    let port = select(vec![
        json!(8080),
        json!(1),
        json!(65_535),
        json!(0),
        json!(null),
    ]);
    (prop::collection::vec(endpoint, 0..5), port).prop_map(move |(endpoints, port)| {
        let endpoints: Vec<Value> = endpoints
            .into_iter()
            .map(|(address, ready, terminating)| {
                let conditions = json!({ "ready": ready, "serving": true, "terminating": terminating });
                json!({ "addresses": [address], "conditions": conditions })
            })
            .collect();
        let mut metadata = metadata(namespace, "svc");
        metadata["labels"] = json!({ "kubernetes.io/service-name": "svc" });
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, "addressType": "IPv4",
            "ports": [{ "name": "http", "port": port }], "endpoints": endpoints,
        })
    })
}

/// The maps of headers that annotations name.
fn maps(namespace: &'static str) -> impl Strategy<Value = Vec<Value>> {
    header_map().prop_map(move |data| {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(namespace, "headers"), "data": data,
        });
        vec![map]
    })
}
