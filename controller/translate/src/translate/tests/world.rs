//! A small world in which much gets in each other's way: few names, many claims.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use sluice_ir::BackendId;
use sluice_syntax::DnsName;
use sluice_translate_engine::{
    AddressPolicy, Change, EndpointHealth, Kind, Object, ObjectKey, Resolution,
};

use crate::{Options, Resources};

const NAMESPACES: [&str; 2] = ["app", "other"];
const HOSTS: [&str; 8] = [
    "",
    "a.test",
    "a.test",
    "b.test",
    "www.a.test",
    "*.a.test",
    "x.a.test",
    "bad host",
];
const SERVICES: [&str; 4] = ["one", "two", "errors", "missing"];

/// One event.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Apply(Box<Object>),
    Delete(Kind, ObjectKey),
    Resolve(DnsName, Resolution),
    Machines(BTreeSet<IpAddr>),
    Health(BackendId, EndpointHealth),
}

impl Step {
    pub(super) fn take(&self, resources: &mut Resources) -> Change {
        match self {
            Step::Apply(object) => resources.apply(Object::clone(object)),
            Step::Delete(kind, key) => resources.delete(*kind, key),
            Step::Machines(addresses) => resources.know_machines(addresses.clone()),
            Step::Health(backend, health) => resources.set_health(backend.clone(), health.clone()),
            Step::Resolve(name, resolution) => resources.resolve(name.clone(), resolution.clone()),
        }
    }
}

pub(super) fn apply(object: Object) -> Step {
    Step::Apply(Box::new(object))
}

pub(super) fn options() -> Options {
    Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("app", "config")),
        tcp_services: Some(ObjectKey::new("app", "tcp")),
        default_backend_service: Some(ObjectKey::new("app", "two")),
        default_certificate: Some(ObjectKey::new("other", "pair")),
        publish_service: Some(ObjectKey::new("app", "two")),
        own_namespace: Some("other".to_owned()),
        addresses: AddressPolicy {
            own_addresses: BTreeSet::from([IpAddr::from([10, 0, 0, 2])]),
            own_ports: BTreeSet::from([8081]),
            ..AddressPolicy::default()
        },
        ..Options::default()
    }
}

/// Initial objects, so that much of what comes later has an effect.
pub(super) fn beginning() -> Vec<Object> {
    let services = NAMESPACES
        .iter()
        .flat_map(|ns| ["one", "two", "errors"].map(|name| (*ns, name)));
    let there =
        services.flat_map(|(ns, name)| [service(ns, name, 3), slice(ns, name, &["10.0.0.1"])]);
    there
        .chain([
            class("nginx"),
            secret("app", "pair", true),
            secret("app", "users", true),
        ])
        .collect()
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let namespace = || select(&NAMESPACES[..]);
    let deletion = (
        any_kind(),
        namespace(),
        select(&["0", "1", "2", "3", "one", "two", "errors", "pair"][..]),
    );
    prop_oneof![
        8 => some_ingress().prop_map(apply),
        3 => (namespace(), select(&SERVICES[..]), 0..4_u8).prop_map(|(ns, name, kind)| {
            apply(service(ns, name, kind))
        }),
        3 => (namespace(), select(&SERVICES[..]), subsequence(vec!["10.0.0.1", "10.0.0.2"], 0..=2))
            .prop_map(|(ns, name, pods)| apply(slice(ns, name, &pods))),
        2 => (namespace(), select(&["pair", "users"][..]), any::<bool>())
            .prop_map(|(ns, name, good)| apply(secret(ns, name, good))),
        2 => some_resolution(),
        2 => some_health(),
        2 => subsequence(vec![[10, 0, 0, 1], [10, 2, 0, 1], [10, 1, 1, 1]], 0..=3)
            .prop_map(|all| Step::Machines(all.into_iter().map(IpAddr::from).collect())),
        1 => some_config_map().prop_map(apply),
        1 => select(&["nginx", "theirs"][..]).prop_map(|name| apply(class(name))),
        4 => deletion.prop_map(|(kind, ns, name)| {
            let namespace = if kind == Kind::IngressClass { "" } else { ns };
            Step::Delete(kind, ObjectKey::new(namespace, name))
        }),
    ]
}

/// Of a backend, or of one that nobody has.
fn some_health() -> impl Strategy<Value = Step> {
    let backend = (
        select(&NAMESPACES[..]),
        select(&SERVICES[..]),
        select(&["80", "http"][..]),
    );
    let addresses = subsequence(vec!["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.1:80"], 0..=3);
    (backend, addresses, 0..2_usize).prop_map(|((namespace, name, port), unhealthy, unchecked)| {
        let unhealthy = unhealthy.iter().map(|address| address.parse().unwrap());
        let health = EndpointHealth {
            unhealthy: unhealthy.collect(),
            unchecked,
        };
        Step::Health(BackendId::new(format!("{namespace}/{name}/{port}")), health)
    })
}

/// Of a name that Services and annotations have, or of one that nobody has. One address is forbidden.
fn some_resolution() -> impl Strategy<Value = Step> {
    let names = select(
        &[
            "outside.example.com",
            "copies.example.com",
            "nobody.example.com",
        ][..],
    );
    let addresses = subsequence(vec!["10.2.0.1", "10.2.0.2", "169.254.169.254"], 0..=3);
    (names, addresses, any::<bool>()).prop_map(|(name, addresses, fails)| {
        let addresses = addresses
            .iter()
            .map(|address| address.parse().unwrap())
            .collect();
        let failure = fails.then(|| "no answer".to_owned());
        Step::Resolve(
            DnsName::parse(name).unwrap(),
            Resolution { addresses, failure },
        )
    })
}

fn any_kind() -> impl Strategy<Value = Kind> {
    select(
        &[
            Kind::Ingress,
            Kind::Ingress,
            Kind::Service,
            Kind::EndpointSlice,
            Kind::Secret,
            Kind::ConfigMap,
        ][..],
    )
}

const ANNOTATIONS: [(&str, &str); 24] = [
    ("canary", "true"),
    (
        "server-alias",
        r"b.test, alias.test, ~^(a|b|x\.sub)\.test$, ~^[^.]+\.sub\.test$",
    ),
    ("from-to-www-redirect", "true"),
    ("affinity", "cookie"),
    ("upstream-hash-by", "$remote_addr"),
    ("default-backend", "errors"),
    ("custom-http-errors", "503"),
    ("auth-type", "basic"),
    ("auth-secret", "users"),
    ("auth-tls-secret", "app/pair"),
    ("custom-headers", "app/headers"),
    ("backend-protocol", "HTTPS"),
    ("backend-protocol", "AUTO_HTTP"),
    ("proxy-connect-timeout", "9"),
    ("use-regex", "true"),
    ("rewrite-target", "/$1"),
    ("mirror-target", "http://one.app.svc.cluster.local"),
    ("auth-url", "http://two.app.svc.cluster.local/"),
    ("auth-url", "http://outside.example.com/"),
    ("mirror-target", "http://copies.example.com"),
    ("proxy-next-upstream-tries", "7"),
    ("service-upstream", "true"),
    ("permanent-redirect", "https://elsewhere.test"),
    ("no-such-annotation", "at all"),
];

fn some_ingress() -> impl Strategy<Value = Object> {
    let rules = prop::collection::vec(
        (select(&HOSTS[..]), some_path(), select(&SERVICES[..])),
        0..3,
    );
    let head = (
        select(&NAMESPACES[..]),
        0..4_u8,
        0..3_u8,
        select(vec![None, Some("nginx"), Some("theirs")]),
    );
    // What only means something together, and reaches over to other hosts.
    let special = prop_oneof![
        subsequence(ANNOTATIONS.to_vec(), 0..4),
        Just(vec![("canary", "true"), ("canary-weight", "60")]),
        Just(vec![("backend-protocol", "HTTPS")]),
        Just(vec![
            ("backend-protocol", "AUTO_HTTP"),
            ("default-backend", "errors")
        ]),
        Just(vec![("default-backend", "errors")]),
    ];
    let tail = (special, any::<bool>(), any::<bool>());
    (head, rules, tail).prop_map(|((ns, name, age, class), rules, (annotations, tls, default))| {
        let written: Map<String, Value> = annotations
            .into_iter()
            .map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), json!(value)))
            .collect();
        let rules: Vec<Value> = rules
            .into_iter()
            .map(|(host, path, service)| {
                json!({"host": host, "http": {"paths": [
                {"path": path, "pathType": "Prefix", "backend": backend(service)}]}})
            })
            .collect();
        let created = format!("2026-01-01T00:00:0{age}Z");
        parsed(json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"namespace": ns, "name": name.to_string(), "creationTimestamp": created,
                "annotations": written},
            "spec": {
                "ingressClassName": class,
                "tls": tls.then(|| json!([{"hosts": ["a.test", "*.a.test"], "secretName": "pair"}])),
                "defaultBackend": default.then(|| backend("one")),
                "rules": rules,
            },
        }))
    })
}

fn some_path() -> impl Strategy<Value = &'static str> {
    select(&["/", "/", "/docs/", "/(.*)"][..])
}

fn some_config_map() -> impl Strategy<Value = Object> {
    let contents = vec![
        ("config", json!({"custom-http-errors": "502"})),
        ("config", json!({"proxy-connect-timeout": "7"})),
        ("config", json!({"unknown": "key"})),
        ("headers", json!({"X-One": "1"})),
        (
            "tcp",
            json!({"9000": "app/one:80", "9001": "app/missing:80"}),
        ),
        ("tcp", json!({"9000": "app/one:80:PROXY:PROXY"})),
        ("tcp", json!({"8080": "app/missing:80", "80": "app/two:80"})),
    ];
    select(contents).prop_map(|(name, data)| config_map(name, &data))
}

pub(super) fn config_map(name: &str, data: &Value) -> Object {
    let metadata = json!({"namespace": "app", "name": name});
    parsed(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
}

fn backend(service: &str) -> Value {
    json!({"service": {"name": service, "port": {"number": 80}}})
}

fn class(name: &str) -> Object {
    let controller = if name == "nginx" {
        "k8s.io/ingress-nginx"
    } else {
        "theirs"
    };
    parsed(
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {"name": name}, "spec": {"controller": controller}}),
    )
}

fn secret(namespace: &str, name: &str, good: bool) -> Object {
    static PAIR: OnceLock<(String, String)> = OnceLock::new();
    let (chain, key) = PAIR.get_or_init(|| {
        let made = rcgen::generate_simple_self_signed(["a.test".to_owned(), "*.a.test".to_owned()])
            .unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    });
    let data = match (name, good) {
        ("pair", true) => json!({"tls.crt": chain, "tls.key": key, "ca.crt": chain}),
        ("users", true) => json!({"auth": "me:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n"}),
        _ => json!({"nothing": "good"}),
    };
    parsed(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"namespace": namespace, "name": name}, "stringData": data}))
}

fn service(namespace: &str, name: &str, kind: u8) -> Object {
    let spec = match kind {
        0 => json!({"type": "ExternalName", "externalName": "outside.example.com"}),
        1 => json!({"clusterIP": "10.1.1.1", "ports": [{"port": 80}]}),
        2 => json!({"ports": [{"port": 81}]}),
        _ => json!({"ports": [{"port": 80, "targetPort": 8080}]}),
    };
    parsed(json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"namespace": namespace, "name": name}, "spec": spec}))
}

pub(super) fn slice(namespace: &str, service: &str, pods: &[&str]) -> Object {
    let endpoints: Vec<Value> = pods.iter().map(|pod| json!({"addresses": [pod]})).collect();
    let labels = json!({"kubernetes.io/service-name": service});
    parsed(
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"namespace": namespace, "name": service, "labels": labels},
        "endpoints": endpoints, "ports": [{"port": 8080}]}),
    )
}

pub(super) fn ingress(
    namespace: &str,
    name: &str,
    hosts: &[&str],
    service: &str,
    annotations: Value,
) -> Object {
    let paths = json!([{"path": "/", "pathType": "Prefix", "backend": backend(service)}]);
    let rules: Vec<Value> = hosts
        .iter()
        .map(|host| json!({"host": host, "http": {"paths": paths.clone()}}))
        .collect();
    parsed(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"namespace": namespace, "name": name, "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": rules},
    }))
}

/// A host of its own, with a Service and a pod.
pub(super) fn application(n: usize) -> Vec<Object> {
    let name = format!("app-{n}");
    let host = format!("{name}.test");
    vec![
        ingress("app", &name, &[&host], &name, json!({})),
        service("app", &name, 3),
        slice("app", &name, &["10.0.0.1"]),
    ]
}

fn parsed(object: Value) -> Object {
    Object::from_value(object).unwrap()
}
