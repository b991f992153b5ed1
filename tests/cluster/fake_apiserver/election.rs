//! Two controllers: one leads, and only that one writes.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::apiserver::Cluster;
use sluice_tests::apiserver::gate::{Fault, Gate};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{NETWORKING, addresses, apply_web_ingress, flags};

const LEASE: (&str, &str, &str) = (
    "coordination.k8s.io/v1",
    "Lease",
    "ingress-controller-leader",
);
const INGRESSES: usize = 30;

/// A controller that goes through a door of its own and publishes an address of its own.
async fn start(cluster: &Cluster, gate: &Gate, pod: &str, address: &str) -> Result<Sluice> {
    let server = format!("http://{}", gate.addr());
    let address = format!("--publish-status-address={address}");
    let more = flags([
        "--apiserver-host",
        &server,
        "--election-ttl=4s",
        "--status-update-interval=5",
        &address,
    ]);
    let options = Options::in_cluster(cluster)
        .environment("POD_NAME", pod)
        .arguments(more);
    options.without_data_plane().start().await
}

fn holder(lease: &Value) -> &str {
    lease
        .pointer("/spec/holderIdentity")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Fields by which others see who leads, since when, and for how long; the number of hand-overs.
fn is_whole(lease: &Value) -> Result<u64> {
    let spec = lease.get("spec").context("no spec")?;
    let is_time = |field: &str| spec[field].as_str().is_some_and(|text| text.contains('T'));
    ensure!(spec["leaseDurationSeconds"] == 4, "{lease}");
    ensure!(is_time("acquireTime") && is_time("renewTime"), "{lease}");
    spec["leaseTransitions"]
        .as_u64()
        .with_context(|| lease.to_string())
}

async fn wait_for_leader(cluster: &Cluster, pod: &str) -> Result<()> {
    cluster
        .wait_for(LEASE, &format!("{pod} to lead"), |lease| {
            holder(lease) == pod
        })
        .await
        .map(drop)
}

/// Waits until all Ingresses have this address and no other.
async fn all_have(cluster: &Cluster, address: &str) -> Result<()> {
    let probe = async || {
        let ingresses = cluster.list(NETWORKING, "Ingress").await.ok()?;
        (ingresses.len() == INGRESSES && ingresses.iter().all(|one| addresses(one) == [address]))
            .then_some(())
    };
    wait::until(&format!("all Ingresses to have {address}"), probe)
        .await
        .map(drop)
}

async fn populate(cluster: &Cluster) -> Result<()> {
    for n in 0..INGRESSES {
        apply_web_ingress(cluster, &format!("web-{n}"), &format!("web-{n}.test")).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_shutdown_hands_over_at_once() -> Result<()> {
    on_each_apiserver(async |cluster| {
        populate(cluster).await?;
        let gate = cluster.another_gate().await?;
        let first = start(cluster, cluster.gate(), "sluice-0", "192.0.2.1").await?;
        all_have(cluster, "192.0.2.1").await?;
        let second = start(cluster, &gate, "sluice-1", "192.0.2.2").await?;
        second.log().wait_for("published").await?;
        ensure!(gate.count("PATCH", "/status") == 0, "two write");
        let lease = cluster
            .get(LEASE.0, LEASE.1, LEASE.2)
            .await?
            .context("no lease")?;
        ensure!(holder(&lease) == "sluice-0", "{lease}");
        let transitions = is_whole(&lease)?;

        first.stop()?;
        wait_for_leader(cluster, "sluice-1").await?;
        let lease = cluster
            .get(LEASE.0, LEASE.1, LEASE.2)
            .await?
            .context("no lease")?;
        ensure!(is_whole(&lease)? == transitions + 1, "{lease}");
        all_have(cluster, "192.0.2.2").await?;
        second.stop()?;
        let lease = cluster
            .get(LEASE.0, LEASE.1, LEASE.2)
            .await?
            .context("no lease")?;
        ensure!(holder(&lease).is_empty(), "given back: {lease}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn leader_that_loses_the_lease_stops_writing() -> Result<()> {
    on_each_apiserver(async |cluster| {
        populate(cluster).await?;
        let (gate, other) = (cluster.gate(), cluster.another_gate().await?);
        // So slow that the lead is lost in the middle: three rounds of ten take longer than the Lease holds.
        let slow = gate.fail(
            "PATCH",
            "/status",
            Fault::Delay(std::time::Duration::from_secs(3)),
        );
        let first = start(cluster, gate, "sluice-0", "192.0.2.1").await?;
        first.log().wait_for("sluice-0 acquired leadership").await?;
        let _cut_off = gate.fail("", "/leases", Fault::Silence);
        let second = start(cluster, &other, "sluice-1", "192.0.2.2").await?;
        first.log().wait_for("lost leadership").await?;
        wait_for_leader(cluster, "sluice-1").await?;
        // What was under way may still arrive, and is mended.
        all_have(cluster, "192.0.2.2").await?;
        drop(slow);
        let written = gate.count("PATCH", "/status");
        ensure!(
            written < INGRESSES,
            "{written} writes by one that lost leadership"
        );
        second.stop()?;
        first.stop()
    })
    .await
}
