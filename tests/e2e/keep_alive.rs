//! Connections to pods are kept for the next request, as many requests as the ConfigMap says.

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};
use crate::scenarios::l4_ports::config_map;

const REQUESTS: u64 = 12;

/// Connections to the pod for [`REQUESTS`] requests in a row.
async fn connections(data_plane: &str, data: serde_json::Value) -> Result<u64> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = Ingress::new("default", "web").host(HOST);
    fixture.manifests.ingress(&ingress.path("/", "web", 80))?;
    fixture.manifests.object(&config_map("sluice", data))?;
    let flags = vec!["--configmap".to_owned(), "sluice/sluice".to_owned()];
    let options = Options::new(&fixture.manifests).data_plane(data_plane);
    let sluice = options.workers(1).arguments(flags).start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let pod = &fixture.pods[0];
    let (connections, hits) = (pod.connections(), pod.hits());
    for _ in 0..REQUESTS {
        ensure!(sluice.get(HOST, "/").await?.status == 200);
    }
    ensure!(pod.hits() - hits == REQUESTS);
    let opened = pod.connections() - connections;
    sluice.stop()?;
    Ok(opened)
}

async fn are_kept_for_so_many_requests(data_plane: &str) -> Result<()> {
    // The first may be there already.
    let kept = connections(data_plane, serde_json::json!({})).await?;
    ensure!(kept <= 1, "{kept} connections");
    let limited = serde_json::json!({"upstream-keepalive-requests": "3"});
    let limited = connections(data_plane, limited).await?;
    ensure!(
        (REQUESTS / 3 - 1..=REQUESTS / 3).contains(&limited),
        "{limited} connections"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_envoy_are_kept_for_so_many_requests() -> Result<()> {
    are_kept_for_so_many_requests("envoy").await
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_nginx_are_kept_for_so_many_requests() -> Result<()> {
    are_kept_for_so_many_requests("nginx").await
}
