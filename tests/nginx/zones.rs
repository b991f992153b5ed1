//! nginx knows nothing of zones: its filter is told by the configuration in which one it runs.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::manifests::{Ingress, endpoint_slice};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{http, wait};

use crate::site::{HOST, Site};

/// Makes these pods the only endpoints, each in its zone.
fn place(site: &Site, pods: &[(usize, &str)]) -> Result<()> {
    let addrs: Vec<SocketAddr> = pods.iter().map(|(pod, _)| site.pods[*pod].addr()).collect();
    let mut slice = endpoint_slice("default", "web", &addrs);
    let endpoints = slice["endpoints"].as_array_mut().into_iter().flatten();
    for (endpoint, (pod, zone)) in endpoints.zip(pods) {
        endpoint["zone"] = (*zone).into();
        endpoint["targetRef"] =
            json!({ "kind": "Pod", "namespace": "default", "name": site.pods[*pod].name() });
    }
    site.manifests.object(&slice)
}

/// Which of the pods answer.
async fn pods(sluice: &Sluice) -> Result<Vec<String>> {
    let mut pods = Vec::new();
    for n in 0..30 {
        let page = http::get(sluice.http(), HOST, &format!("/{n}")).await?;
        ensure!(page.status == 200, "{}", page.text());
        pods.extend(page.pod().map(str::to_owned));
    }
    pods.sort();
    pods.dedup();
    Ok(pods)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn near_pods_serve_and_far_ones_when_there_is_no_near_one() -> Result<()> {
    let site = Site::start(4, 4).await?;
    let ingress = Ingress::new("default", "web").host(HOST).path("/", "web", 80);
    site.manifests.ingress(&ingress.annotation("sluice.dev/zone-preference", "prefer"))?;
    place(&site, &[(0, "a"), (1, "b"), (2, "a"), (3, "b")])?;
    let options = Options::new(&site.manifests).data_plane("nginx");
    let sluice = options.arguments(vec!["--zone=a".to_owned()]).start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    ensure!(pods(&sluice).await? == ["web-0", "web-2"], "{:?}", pods(&sluice).await?);
    place(&site, &[(1, "b"), (3, "b")])?;
    let far = async || (pods(&sluice).await.ok()? == ["web-1", "web-3"]).then_some(());
    wait::until("the other zone to serve", far).await?;
    sluice.stop()
}
