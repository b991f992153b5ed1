//! R9: a reference to an object of another namespace gives nobody a say about it. How a Service is balanced is decided by
//! Ingresses of its own namespace that route to it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use sluice_ir::{Backend, BackendId};
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::manifests::{self, Ingress};
use sluice_tests::ports::Network;
use sluice_translate::{Object, ObjectKey, Options, Resources, translate};

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(older_foreign_mirror_does_not_change_balancing);

/// Everything that says how a Service is balanced.
const BALANCING: [(&str, &str); 13] = [
    ("load-balance", "ewma"),
    ("upstream-hash-by", "$request_uri"),
    ("upstream-hash-by-subset", "true"),
    ("affinity", "cookie"),
    ("session-cookie-name", "own"),
    ("affinity-mode", "persistent"),
    ("service-upstream", "true"),
    ("proxy-next-upstream-tries", "1"),
    ("proxy-next-upstream-tries", "9"),
    ("sluice.dev/slow-start", "30s"),
    ("sluice.dev/eject-after", "3"),
    ("sluice.dev/health-check-path", "/"),
    ("sluice.dev/zone-preference", "true"),
];

/// Every way for an Ingress of a foreign namespace to name `web` of the owner's.
fn references() -> Vec<Value> {
    vec![
        json!({"mirror-target": "http://web.owner.svc.cluster.local"}),
        json!({"mirror-target": "https://web.owner.svc:80"}),
        json!({"auth-url": "http://web.owner.svc.cluster.local:80/check"}),
        json!({"auth-url": "https://web.owner.svc.cluster.local:80/check"}),
        json!({"auth-url": "http://web.owner.svc/", "auth-signin": "http://web.owner.svc/"}),
        json!({"default-backend": "web", "custom-http-errors": "503"}),
        json!({"default-backend": "owner/web", "custom-http-errors": "503"}),
        json!({"default-backend": "alias"}),
        json!({"canary": "true", "canary-weight": "100"}),
        json!({"server-alias": "a.example"}),
    ]
}

fn annotations(pairs: impl IntoIterator<Item = (String, Value)>) -> Map<String, Value> {
    let named = |name: String| match name.contains('/') {
        true => name,
        false => format!("nginx.ingress.kubernetes.io/{name}"),
    };
    pairs
        .into_iter()
        .map(|(name, value)| (named(name), value))
        .collect()
}

fn ingress(
    namespace: &str,
    (host, service): (&str, &str),
    age: u8,
    annotations: &Map<String, Value>,
) -> Value {
    let backend = json!({"service": {"name": service, "port": {"number": 80}}});
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": service, "namespace": namespace, "annotations": annotations,
            "creationTimestamp": format!("2026-01-01T00:00:{age:02}Z")},
        "spec": {"ingressClassName": "nginx", "defaultBackend": backend, "rules": [
            {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}},
        ]},
    })
}

fn owner_ingress(age: u8, annotations: &Map<String, Value>) -> Value {
    ingress(OWNER, ("a.example", "web"), age, annotations)
}

/// The owner's backends, by all that an operator refers to them with, too.
fn backends(ingresses: &[Value], options: &Options) -> Vec<(BackendId, Backend)> {
    let pods = [
        "10.0.0.1:80".parse().unwrap(),
        "10.0.0.2:80".parse().unwrap(),
    ];
    let mut outside = manifests::service(FOREIGN, "alias", 80, &[]);
    outside["spec"] =
        json!({"type": "ExternalName", "externalName": "web.owner.svc.cluster.local"});
    let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ops"}, "data": data});
    // Without names of ports, everybody names them alike.
    let (mut service, mut slice) = (
        manifests::service(OWNER, "web", 80, &pods),
        manifests::endpoint_slice(OWNER, "web", &pods),
    );
    service["spec"]["ports"] = json!([{"port": 80}]);
    slice["ports"] = json!([{"port": 80}]);
    let objects = [
        service,
        slice,
        manifests::service(FOREIGN, "web", 80, &pods),
        outside,
        map("tcp", json!({"9000": "owner/web:80"})),
        map("settings", json!({"load-balance": "least_conn"})),
    ];
    let mut resources = Resources::default();
    for object in objects.iter().chain(ingresses) {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let translation = translate(&resources, options);
    let all = translation.config().backends.iter();
    all.filter(|(id, _)| id.as_str().starts_with("owner/"))
        .map(|(id, of)| (id.clone(), of.as_ref().clone()))
        .collect()
}

fn options() -> impl Strategy<Value = Options> {
    let key = |name| ObjectKey::new("ops", name);
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(move |(default, tcp, settings)| {
        Options {
            class_is_implied: true,
            configmap: settings.then(|| key("settings")),
            tcp_services: tcp.then(|| key("tcp")),
            default_backend_service: default.then(|| ObjectKey::new(OWNER, "web")),
            ..Options::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn foreign_references_do_not_change_balancing(
        own in subsequence(BALANCING.to_vec(), 0..5),
        is_routed in any::<bool>(),
        (reference, foreign) in (select(references()), subsequence(BALANCING.to_vec(), 0..5)),
        // Older and younger than the owner's, which is 5.
        age in 0..10_u8,
        service in select(vec!["web", "alias"]),
        options in options(),
    ) {
        let pairs = |all: Vec<(&str, &str)>| all.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect::<Vec<_>>();
        let own = is_routed.then(|| owner_ingress(5, &annotations(pairs(own))));
        let own: Vec<Value> = own.into_iter().collect();
        let all = pairs(foreign).into_iter().chain(reference.as_object().unwrap().clone());
        let foreign = ingress(FOREIGN, ("b.example", service), age, &annotations(all));
        let before = backends(&own, &options);
        let after = backends(&[own, vec![foreign]].concat(), &options);
        for (id, backend) in &before {
            let now = after.iter().find(|(other, _)| other == id).map(|(_, backend)| backend);
            prop_assert_eq!(now, Some(backend), "{}", id);
        }
    }

    /// A reference of the owner's own that is no route has no say either, as in ingress-nginx.
    #[test]
    fn own_mirrors_and_auth_requests_do_not_change_balancing(
        own in subsequence(BALANCING.to_vec(), 0..5),
        reference in select(references()[..5].to_vec()),
    ) {
        let pairs = own.into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        let routed = owner_ingress(5, &annotations(pairs));
        let other = annotations(reference.as_object().unwrap().clone());
        let options = Options { class_is_implied: true, ..Options::default() };
        let alone = backends(std::slice::from_ref(&routed), &options);
        let asked = ingress(OWNER, ("b.example", "other"), 1, &other);
        let both = backends(&[routed, asked], &options);
        for (id, backend) in &alone {
            prop_assert_eq!(both.iter().find(|(other, _)| other == id).map(|(_, backend)| backend), Some(backend));
        }
    }
}

/// As the operator's own reference: a TCP or UDP port is balanced as ever, whoever has copies sent there.
#[test]
fn foreign_references_do_not_change_balancing_of_l4_ports() {
    let key = |name| Some(ObjectKey::new("ops", name));
    let options = Options {
        class_is_implied: true,
        configmap: key("settings"),
        tcp_services: key("tcp"),
        ..Options::default()
    };
    let mirror = annotations([(
        "mirror-target".to_owned(),
        json!("http://web.owner.svc.cluster.local"),
    )]);
    let foreign = ingress(FOREIGN, ("b.example", "web"), 1, &mirror);
    let after = backends(&[foreign], &options);
    for (id, backend) in backends(&[], &options) {
        let now = after
            .iter()
            .find(|(other, _)| *other == id)
            .map(|(_, backend)| backend);
        assert_eq!(now, Some(&backend), "{}", id.as_str());
    }
}

/// Each path of the owner has one of the two pods, as it says, however old the stranger is who has copies sent to them.
async fn older_foreign_mirror_does_not_change_balancing(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let network = Network::reserve()?;
    let mut pods = Vec::new();
    for n in 0..2 {
        let (pod, service) = (format!("hashed-{n}"), "hashed".to_owned());
        let identity = EchoIdentity {
            pod,
            service,
            namespace: OWNER.to_owned(),
        };
        pods.push(Echo::start_with(network.pod(n), identity, Setup::default()).await?);
    }
    let addresses: Vec<_> = pods.iter().map(Echo::addr).collect();
    tenants.manifests.service(OWNER, "hashed", 80, &addresses)?;
    let own = Ingress::new(OWNER, "own")
        .host("own.test")
        .path("/", "hashed", 80);
    let mut own = own.annotation("upstream-hash-by", "$request_uri").to_json();
    own["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:02Z");
    let foreign = Ingress::new(FOREIGN, "mirror")
        .host("foreign.test")
        .path("/", "web", 80);
    let mut foreign = foreign
        .annotation("mirror-target", "http://hashed.owner.svc.cluster.local")
        .to_json();
    foreign["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:01Z");
    tenants.write("all.yaml", &[own, foreign])?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    let mut all = BTreeSet::new();
    for path in 0..12 {
        let mut answered = BTreeSet::new();
        for _ in 0..4 {
            let page = sluice.get("own.test", &format!("/{path}")).await?;
            answered.insert(page.pod().context("a pod answers")?.to_owned());
        }
        ensure!(answered.len() == 1, "/{path}: {answered:?}");
        all.append(&mut answered);
    }
    ensure!(all.len() == 2, "every path has the same pod: {all:?}");
    sluice.stop()
}
