//! Pods in the zone of the data plane come first, and the others serve when there are none.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http;
use sluice_tests::manifests::{Ingress, endpoint_slice};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::site::{HOST, Site};
use crate::sticky::{clients, sticky};

const PREFERENCE: &str = "sluice.dev/zone-preference";

impl Site {
    /// Makes these pods the only endpoints of a Service, each in its zone.
    pub(crate) fn placed(&self, service: &str, pods: &[(usize, &str)]) -> Result<()> {
        let addrs: Vec<SocketAddr> = pods.iter().map(|(pod, _)| self.pods[*pod].addr()).collect();
        let mut slice = endpoint_slice("default", service, &addrs);
        let endpoints = slice["endpoints"].as_array_mut().into_iter().flatten();
        for (endpoint, (pod, zone)) in endpoints.zip(pods) {
            endpoint["zone"] = (*zone).into();
            endpoint["targetRef"] =
                json!({ "kind": "Pod", "namespace": "default", "name": self.pods[*pod].name() });
        }
        self.manifests.object(&slice)
    }
}

async fn start(site: &Site) -> Result<Sluice> {
    Options::new(&site.manifests).arguments(vec!["--zone=a".to_owned()]).start().await
}

/// Which of the pods answer, of requests for different paths.
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

#[tokio::test]
async fn near_pods_serve_and_far_ones_when_there_is_no_near_one() -> Result<()> {
    let ingress = || Ingress::new("default", "web").host(HOST).path("/", "web", 80);
    for ingress in [ingress(), ingress().annotation("upstream-hash-by", "$request_uri")] {
        let site = Site::start(4, 4).await?;
        site.manifests.ingress(&ingress.annotation(PREFERENCE, "prefer"))?;
        site.placed("web", &[(0, "a"), (1, "b"), (2, "a"), (3, "b")])?;
        let sluice = start(&site).await?;
        ensure!(pods(&sluice).await? == ["web-0", "web-2"], "{:?}", pods(&sluice).await?);
        site.placed("web", &[(1, "b"), (3, "b")])?;
        let far = async || (pods(&sluice).await.ok()? == ["web-1", "web-3"]).then_some(());
        wait::until("the other zone to serve", far).await?;
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test]
async fn without_a_preference_zones_do_not_matter() -> Result<()> {
    let site = Site::start(2, 2).await?;
    site.placed("web", &[(0, "a"), (1, "b")])?;
    let sluice = start(&site).await?;
    ensure!(pods(&sluice).await? == ["web-0", "web-1"], "{:?}", pods(&sluice).await?);
    sluice.stop()
}

#[tokio::test]
async fn new_sessions_begin_near_and_old_ones_stay_where_they_are() -> Result<()> {
    for mode in ["persistent", "balanced"] {
        let site = Site::start(3, 3).await?;
        site.manifests.ingress(&sticky(mode).annotation(PREFERENCE, "prefer"))?;
        site.placed("web", &[(1, "b"), (2, "b")])?;
        let sluice = start(&site).await?;
        let far = clients(sluice.http(), 4).await?;
        site.placed("web", &[(0, "a"), (1, "b"), (2, "b")])?;
        sluice.wait_for_pod(HOST, "web-0").await?;
        let new = clients(sluice.http(), 12).await?;
        ensure!(new.iter().all(|(_, pod)| pod == "web-0"), "{mode}: a new session began far away");
        for (mut client, home) in far {
            let pod = client.visit(sluice.http()).await?;
            // A balanced session may move to the new pod, as ever; to no other.
            ensure!(pod == home || (mode == "balanced" && pod == "web-0"), "{mode}: {home} became {pod}");
        }
        sluice.stop()?;
    }
    Ok(())
}
