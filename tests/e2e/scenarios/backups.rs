//! Pods that are backups of others, the same for every data plane.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Port;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use sluice_tests::zones::{answering, place};

use crate::fixture::{Fixture, HOST, page};
use crate::scenarios::l4_ports::{config_map, with_ports};

const PRIMARIES: [&str; 2] = ["web-0", "web-1"];
const BACKUPS: [&str; 2] = ["web-2", "web-3"];

/// A Pod of the site that is a backup, and would get most requests by its weight.
fn set_backup(manifests: &Manifests, pod: &str) -> Result<()> {
    let annotations = json!({ "sluice.dev/backup": "true", "sluice.dev/weight": "100" });
    let metadata = json!({ "namespace": "default", "name": pod, "annotations": annotations });
    manifests.object(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata }))
}

/// Four pods: two primaries, of which none is near, and two backups, which are.
pub(crate) async fn site() -> Result<Fixture> {
    let fixture = Fixture::start(4, 4).await?;
    for pod in BACKUPS {
        set_backup(&fixture.manifests, pod)?;
    }
    place_pods(&fixture, &[0, 1, 2, 3])?;
    Ok(fixture)
}

/// Makes these pods the only endpoints.
pub(crate) fn place_pods(fixture: &Fixture, pods: &[usize]) -> Result<()> {
    let zone = |pod: usize| if pod < 2 { "far" } else { "near" };
    let pods: Vec<_> = pods
        .iter()
        .map(|&pod| (&fixture.pods[pod], zone(pod)))
        .collect();
    place(&fixture.manifests, "web", &pods)
}

async fn wait_for_pods(sluice: &Sluice, pods: &[&str]) -> Result<()> {
    let exactly = async || (answering(sluice, HOST).await.ok()? == pods).then_some(());
    let waited = wait::until(&format!("{pods:?} to serve"), exactly).await;
    waited.map(drop).with_context(|| sluice.log().tail())
}

/// Backups serve once no primary is left, or all that are left fail, and not before.
pub(crate) async fn serve_without_primaries(data_plane: &str, flags: &[&str]) -> Result<()> {
    for annotation in [
        ("load-balance", "round_robin"),
        ("load-balance", "least_conn"),
        ("upstream-hash-by", "$request_uri"),
    ] {
        let mut fixture = site().await?;
        let ingress = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80);
        let ingress = ingress.annotation(annotation.0, annotation.1);
        fixture
            .manifests
            .ingress(&ingress.annotation("sluice.dev/zone-preference", "prefer"))?;
        let flags = flags.iter().chain(&["--zone=near"]);
        let sluice = Options::new(&fixture.manifests)
            .data_plane(data_plane)
            .arguments(flags.map(|flag| (*flag).to_owned()).collect())
            .start()
            .await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        let pods = answering(&sluice, HOST).await?;
        ensure!(pods == PRIMARIES, "{annotation:?}: {pods:?}");
        place_pods(&fixture, &[2, 3])?;
        wait_for_pods(&sluice, &BACKUPS).await?;
        place_pods(&fixture, &[0, 1, 2, 3])?;
        wait_for_pods(&sluice, &PRIMARIES).await?;
        // One of them is enough.
        fixture.pods[0].stop().await;
        let pods = answering(&sluice, HOST).await?;
        ensure!(pods == ["web-1"], "{annotation:?}: {pods:?}");
        fixture.pods[1].stop().await;
        let pods = answering(&sluice, HOST).await?;
        ensure!(
            pods.iter().all(|pod| BACKUPS.contains(&pod.as_str())),
            "{annotation:?}: {pods:?}"
        );
        sluice.stop()?;
    }
    Ok(())
}

/// The same for connections of a TCP port.
pub(crate) async fn take_connections_without_primaries(data_plane: &str) -> Result<()> {
    let (fixture, port) = (site().await?, Port::reserve()?);
    let targets = json!({(port.number().to_string()): "default/web:80"});
    fixture.manifests.object(&config_map("tcp", targets))?;
    fixture.manifests.object(&config_map("udp", json!({})))?;
    let sluice = with_ports(&fixture.manifests, data_plane).start().await?;
    let wait_for = async |pods: &[&str]| {
        let exactly = async || (connected(&port).await? == named(pods)).then_some(());
        let waited = wait::until(&format!("connections to {pods:?}"), exactly).await;
        waited.map(drop).with_context(|| sluice.log().tail())
    };
    wait_for(&PRIMARIES).await?;
    place_pods(&fixture, &[2, 3])?;
    wait_for(&BACKUPS).await?;
    place_pods(&fixture, &[0, 2, 3])?;
    wait_for(&PRIMARIES[..1]).await?;
    sluice.stop()
}

fn named(pods: &[&str]) -> BTreeSet<String> {
    pods.iter().map(|pod| (*pod).to_owned()).collect()
}

/// The pods of ten new connections.
async fn connected(port: &Port) -> Option<BTreeSet<String>> {
    let mut pods = BTreeSet::new();
    for _ in 0..10 {
        let mut connection = Connection::open(port.addr()).await.ok()?;
        pods.insert(connection.send(&page()).await.ok()?.pod()?.to_owned());
    }
    Some(pods)
}
