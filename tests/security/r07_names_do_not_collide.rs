//! R7: two names never meet in something that is made of them: not in a file, a key, a counter, or the name of a backend, also
//! where they would be the same once joined by a hyphen, a dot, an underscore or nothing.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use sluice_tests::echo::{Echo, EchoIdentity, Setup};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{self, Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;
use sluice_translate::{Object, Options, Resources, translate};

use crate::setup::{Plane, on_every_plane};

on_every_plane!(joined_names_do_not_collide);

/// Namespaces and names that come to the same text in some way of joining them.
const COLLIDING: [(&str, &str); 7] = [
    ("a", "b-c"),
    ("a-b", "c"),
    ("a", "b.c"),
    ("a", "b-c-80"),
    ("a-b", "c-80"),
    ("a", "bc"),
    ("ab", "c"),
];

fn host(namespace: &str, name: &str) -> String {
    format!("{}.{namespace}.test", name.replace('.', "-dot-"))
}

/// An Ingress with a password, and one with a limit.
fn ingresses(namespace: &str, name: &str) -> [Value; 2] {
    let of = |kind: &str| format!("{kind}.{}", host(namespace, name));
    let guarded = Ingress::new(namespace, name)
        .host(&of("guarded"))
        .path("/", name, 80);
    let guarded = guarded
        .annotation("auth-type", "basic")
        .annotation("auth-secret", name);
    let counted = format!("{name}-counted");
    let counted = Ingress::new(namespace, &counted)
        .host(&of("counted"))
        .path("/", name, 80);
    let counted = counted
        .annotation("limit-rpm", "1")
        .annotation("limit-burst-multiplier", "1");
    [guarded.to_json(), counted.to_json()]
}

/// Waits until each Ingress has its one request with the right password, and no more, in metrics of its own.
async fn are_counted_apart(sluice: &Sluice) -> Result<()> {
    let counts = async || {
        let page = http::get(sluice.health(), "metrics", "/metrics")
            .await
            .ok()?
            .text();
        let is_counted = |(namespace, name): (&str, &str)| {
            let labels = [
                format!("namespace=\"{namespace}\""),
                format!("ingress=\"{name}\""),
                "status=\"200\"".to_owned(),
            ];
            page.lines().any(|line| {
                line.starts_with("nginx_ingress_controller_requests{")
                    && labels.iter().all(|label| line.contains(label))
                    && line.ends_with(" 1")
            })
        };
        COLLIDING.into_iter().all(is_counted).then_some(())
    };
    wait::until("each Ingress to be counted by itself", counts)
        .await
        .map(drop)
}

/// Each has its own pod, its own password, a counter of its own, and metrics of its own.
async fn joined_names_do_not_collide(plane: Plane) -> Result<()> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let (mut pods, mut objects) = (Vec::new(), Vec::new());
    for (number, (namespace, name)) in COLLIDING.into_iter().enumerate() {
        let (addr, pod) = (
            network.pod(u16::try_from(number)?),
            format!("{namespace}/{name}"),
        );
        let identity = EchoIdentity {
            pod,
            service: name.to_owned(),
            namespace: namespace.to_owned(),
        };
        pods.push(Echo::start_with(addr, identity, Setup::default()).await?);
        objects.push(manifests::service(namespace, name, 80, &[addr]));
        objects.push(manifests::endpoint_slice(namespace, name, &[addr]));
        let users = json!({"auth": format!("ada:{{PLAIN}}{number}\n")});
        objects.push(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}, "stringData": users,
        }));
        objects.extend(ingresses(namespace, name));
    }
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    manifests.write("all.yaml", &documents.join("\n---\n"))?;
    let options = plane.options(&manifests);
    let options = options.arguments(vec!["--enable-metrics".to_owned()]);
    let sluice = options.start().await?;
    for (namespace, name) in COLLIDING {
        let guarded = format!("guarded.{}", host(namespace, name));
        for (number, owner) in COLLIDING.into_iter().enumerate() {
            let password = STANDARD.encode(format!("ada:{number}"));
            let request =
                Request::get(&guarded, "/").header("authorization", &format!("Basic {password}"));
            let answer = http::send(sluice.http(), &request).await?;
            let expected = (owner == (namespace, name)).then(|| format!("{namespace}/{name}"));
            ensure!(
                answer.pod() == expected.as_deref(),
                "{owner:?} at {guarded}: {answer:?}"
            );
        }
    }
    for (namespace, name) in COLLIDING {
        let counted = format!("counted.{}", host(namespace, name));
        ensure!(
            sluice.get(&counted, "/").await?.status == 200,
            "{counted} pays for somebody else"
        );
        let mut statuses = BTreeSet::new();
        for _ in 0..4 {
            statuses.insert(sluice.get(&counted, "/").await?.status);
        }
        ensure!(
            statuses.contains(&503),
            "{counted} has no limit: {statuses:?}"
        );
    }
    are_counted_apart(&sluice).await?;
    sluice.stop()
}

/// Names of which each part may hold what joins parts elsewhere.
fn names() -> impl Strategy<Value = BTreeSet<(String, String)>> {
    let part = |letters: &'static [&'static str]| {
        prop::collection::vec(select(letters), 0..4)
            .prop_map(|letters| format!("a{}z", letters.concat()))
    };
    let namespace = part(&["-a", "a", "80", "--a"]);
    let name = part(&["-a", ".a", "a", "80", "-80", "--a"]);
    prop::collection::btree_set((namespace, name), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Each host leads to the pod of its own Service, and there are as many backends as Services.
    #[test]
    fn every_service_has_its_own_backend(names in names()) {
        let mut resources = Resources::default();
        for (number, (namespace, name)) in names.iter().enumerate() {
            let pod = [format!("10.0.0.{number}:80").parse().unwrap()];
            let web = Ingress::new(namespace, name).host(&format!("h{number}.test")).path("/", name, 80).to_json();
            let (service, slice) = (manifests::service(namespace, name, 80, &pod), manifests::endpoint_slice(namespace, name, &pod));
            for object in [web, service, slice] {
                drop(resources.apply(Object::from_value(object).unwrap()));
            }
        }
        let translation = translate(&resources, &Options { class_is_implied: true, ..Options::default() });
        let config = json!(translation.config());
        prop_assert_eq!(config["backends"].as_object().unwrap().len(), names.len());
        for number in 0..names.len() {
            let action = &config["servers"][format!("h{number}.test")]["routes"][0]["action"];
            let id = action["forward"].as_str().unwrap();
            let backend = config["backends"][id].to_string();
            prop_assert!(backend.contains(&format!("10.0.0.{number}:80")), "{}: {}", id, backend);
        }
    }
}
