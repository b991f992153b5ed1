//! Addresses in the status of Ingresses, and when nothing is written.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::each_apiserver::{on_each_apiserver, print};
use crate::setup::{NETWORKING, addresses, apply_web_ingress, flags, web_ingress};

/// The shortest that there is.
const INTERVAL: &str = "--status-update-interval=5";

async fn start(cluster: &Cluster, more: &[&str]) -> Result<Sluice> {
    let more = more.iter().map(|flag| (*flag).to_owned()).collect();
    Options::in_cluster(cluster)
        .arguments(more)
        .without_data_plane()
        .start()
        .await
}

async fn wait_for_addresses(cluster: &Cluster, ingress: &str, wanted: &[&str]) -> Result<()> {
    let what = format!("to have the addresses {wanted:?}");
    let place = (NETWORKING, "Ingress", ingress);
    cluster
        .wait_for(place, &what, |object| addresses(object) == wanted)
        .await
        .map(drop)
}

fn writes(cluster: &Cluster, ingress: &str) -> usize {
    cluster
        .gate()
        .count("PATCH", &format!("/ingresses/{ingress}/status"))
}

fn service(cluster: &Cluster, spec: Value) -> Value {
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "namespace": cluster.namespace(), "name": "front" },
        "spec": { "ports": [{ "name": "http", "port": 80 }] },
    });
    for (name, value) in spec.as_object().into_iter().flatten() {
        service["spec"][name] = value.clone();
    }
    service
}

#[tokio::test(flavor = "multi_thread")]
async fn static_addresses_are_written_once_and_only_to_own_ingresses() -> Result<()> {
    on_each_apiserver(async |cluster| {
        apply_web_ingress(cluster, "web", "web.test").await?;
        cluster
            .apply(
                &web_ingress(cluster, "theirs", "theirs.test")
                    .class("nobody-made-this")
                    .to_json(),
            )
            .await?;
        let sluice = start(
            cluster,
            &[
                INTERVAL,
                "--publish-status-address=lb.example.org,192.0.2.7,192.0.2.6",
            ],
        )
        .await?;
        let wanted = ["lb.example.org", "192.0.2.6", "192.0.2.7"];
        wait_for_addresses(cluster, "web", &wanted).await?;

        // Neither a change of the Ingress nor another look at the addresses is a reason to write.
        cluster
            .apply(&web_ingress(cluster, "web", "other.test").to_json())
            .await?;
        apply_web_ingress(cluster, "later", "later.test").await?;
        wait_for_addresses(cluster, "later", &wanted).await?;
        ensure!(
            writes(cluster, "web") == 1,
            "{} writes",
            writes(cluster, "web")
        );

        // Whatever somebody else wrote is.
        let mut foreign = web_ingress(cluster, "web", "other.test").to_json();
        foreign["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "203.0.113.1" }] } });
        cluster.apply_status(&foreign).await?;
        wait_for_addresses(cluster, "web", &wanted).await?;
        ensure!(
            writes(cluster, "theirs") == 0,
            "an Ingress of another controller got a status"
        );
        sluice.stop()?;
        // More than one address: others serve.
        wait_for_addresses(cluster, "web", &wanted).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn status_follows_the_publish_service() -> Result<()> {
    on_each_apiserver(async |cluster| {
        apply_web_ingress(cluster, "web", "web.test").await?;
        cluster
            .apply(&service(
                cluster,
                json!({ "externalIPs": ["192.0.2.9"], "type": "NodePort" }),
            ))
            .await?;
        let named = format!("--publish-service={}/front", cluster.namespace());
        let sluice = start(cluster, &[INTERVAL, &named]).await?;
        wait_for_addresses(cluster, "web", &["192.0.2.9"]).await?;
        let mut balanced = service(cluster, json!({ "type": "LoadBalancer" }));
        cluster.apply(&balanced).await?;
        balanced["status"] =
            json!({ "loadBalancer": { "ingress": [{ "hostname": "lb.example.org" }] } });
        cluster.apply_status(&balanced).await?;
        wait_for_addresses(cluster, "web", &["lb.example.org"]).await?;
        sluice.stop()
    })
    .await
}

/// The interval is the usual minute: what is waited for comes sooner.
#[tokio::test(flavor = "multi_thread")]
async fn load_balancer_without_an_address_is_reported_once_and_waited_for() -> Result<()> {
    on_each_apiserver(async |cluster| {
        apply_web_ingress(cluster, "web", "web.test").await?;
        let mut balanced = service(cluster, json!({ "type": "LoadBalancer" }));
        cluster.apply(&balanced).await?;
        let named = format!("--publish-service={}/front", cluster.namespace());
        let sluice = start(cluster, &[&named]).await?;
        let report = format!("{named} has no address yet").replacen('=', " ", 1);
        sluice.log().wait_for(&report).await?;
        let looks = || cluster.gate().count("GET", "/services/front");
        let looked_again = async || (looks() > 1).then_some(());
        wait::until("another look at the Service", looked_again).await?;
        ensure!(
            writes(cluster, "web") == 0,
            "a status without addresses was written"
        );

        balanced["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.8" }] } });
        cluster.apply_status(&balanced).await?;
        wait_for_addresses(cluster, "web", &["192.0.2.8"]).await?;
        let lines = sluice.log().lines();
        let reports = lines.iter().filter(|line| line.contains(&report)).count();
        ensure!(reports == 1, "reported {reports} times");
        sluice.stop()
    })
    .await
}

fn node(name: &str, inside: &str, outside: Option<&str>) -> Value {
    let inside = json!({ "type": "InternalIP", "address": inside });
    let outside = outside.map(|address| json!({ "type": "ExternalIP", "address": address }));
    let all: Vec<Value> = [inside].into_iter().chain(outside).collect();
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
        "status": { "addresses": all },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn status_lists_node_addresses_without_a_service() -> Result<()> {
    let test = async |cluster: &Cluster| {
        // Nodes belong to nobody's namespace: in a real cluster a test must not make any.
        let Some(fake) = cluster.as_fake() else {
            print("not played in a real cluster: it makes Nodes");
            return Ok(());
        };
        fake.put(node("a", "10.0.0.1", Some("192.0.2.1")))?;
        fake.put(node("b", "10.0.0.2", None))?;
        for (name, node, ready) in [
            ("one", "a", "True"),
            ("two", "b", "True"),
            ("three", "c", "False"),
        ] {
            fake.put(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "namespace": cluster.namespace(), "name": name, "labels": { "app": "edge" } },
                "spec": { "nodeName": node },
                "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] },
            }))?;
        }
        apply_web_ingress(cluster, "web", "web.test").await?;
        let outside = ["--publish-pods=app=edge", INTERVAL];
        let sluice = start(cluster, &outside).await?;
        wait_for_addresses(cluster, "web", &["10.0.0.2", "192.0.2.1"]).await?;
        // To replace an object leaves its status as it was.
        fake.remove(&node("b", "10.0.0.2", None))?;
        fake.put(node("b", "10.0.0.2", Some("192.0.2.2")))?;
        wait_for_addresses(cluster, "web", &["192.0.2.1", "192.0.2.2"]).await?;
        sluice.stop()?;
        let internal = [
            "--publish-pods=app=edge",
            "--report-node-internal-ip-address",
        ];
        let sluice = start(cluster, &internal).await?;
        wait_for_addresses(cluster, "web", &["10.0.0.1", "10.0.0.2"]).await?;
        sluice.stop()
    };
    on_each_apiserver(test).await
}

#[tokio::test(flavor = "multi_thread")]
async fn last_replica_clears_the_status_on_shutdown() -> Result<()> {
    on_each_apiserver(async |cluster| {
        const ADDRESS: &str = "--publish-status-address=192.0.2.7";
        apply_web_ingress(cluster, "web", "web.test").await?;
        let sluice = start(cluster, &[ADDRESS]).await?;
        wait_for_addresses(cluster, "web", &["192.0.2.7"]).await?;
        sluice.stop()?;
        wait_for_addresses(cluster, "web", &[]).await?;

        let sluice = start(cluster, &[ADDRESS, "--update-status-on-shutdown=false"]).await?;
        wait_for_addresses(cluster, "web", &["192.0.2.7"]).await?;
        sluice.stop()?;
        wait_for_addresses(cluster, "web", &["192.0.2.7"]).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn replica_with_peers_keeps_the_status_on_shutdown() -> Result<()> {
    on_each_apiserver(async |cluster| {
        for name in ["sluice-0", "sluice-1"] {
            cluster
                .apply(&json!({
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {
                        "namespace": cluster.namespace(), "name": name,
                        "labels": { "app": "sluice", "pod-template-hash": name },
                    },
                    "spec": { "containers": [{ "name": "none", "image": "registry.invalid/none" }] },
                }))
                .await?;
        }
        apply_web_ingress(cluster, "web", "web.test").await?;
        let sluice = start(cluster, &["--publish-status-address=192.0.2.7"]).await?;
        wait_for_addresses(cluster, "web", &["192.0.2.7"]).await?;
        sluice.stop()?;
        wait_for_addresses(cluster, "web", &["192.0.2.7"]).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn status_is_not_written_without_leader_election() -> Result<()> {
    on_each_apiserver(async |cluster| {
        apply_web_ingress(cluster, "web", "web.test").await?;
        let off = flags([
            "--disable-leader-election",
            "--publish-status-address=192.0.2.7",
        ]);
        let sluice = Options::in_cluster(cluster)
            .arguments(off)
            .without_data_plane()
            .start()
            .await?;
        sluice.log().wait_for("published 1 host,").await?;
        sluice.stop()?;
        ensure!(
            writes(cluster, "web") == 0 && cluster.gate().count("", "/leases") == 0,
            "something was"
        );
        Ok(())
    })
    .await
}
