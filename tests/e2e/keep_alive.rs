//! Connections to pods are kept for the next request, as many requests as the ConfigMap says, and through changes.

use anyhow::{Result, ensure};
use sluice_tests::certificate::{Pair, presented, presents};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

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

/// One connection of each pod, kept while requests come one after the other.
struct Pools<'a> {
    fixture: &'a Fixture,
    sluice: &'a Sluice,
}

impl Pools<'_> {
    /// Both pods get requests, on the connections that they have.
    async fn are_kept_through(&self, change: &str) -> Result<()> {
        let hits: Vec<u64> = self.fixture.pods.iter().map(Echo::hits).collect();
        for _ in 0..6 {
            ensure!(self.sluice.get(HOST, "/").await?.status == 200, "{change}");
        }
        for (pod, hits) in self.fixture.pods.iter().zip(hits) {
            ensure!(pod.hits() > hits, "{change}: {} is idle", pod.name());
            let connections = pod.connections();
            ensure!(
                connections == 1,
                "{change}: {connections} connections to {}",
                pod.name()
            );
        }
        Ok(())
    }
}

/// Routes, endpoints of others and certificates come, change and go; each is seen to be in force.
async fn pools_survive_changes(flags: &[&str]) -> Result<()> {
    let (fixture, network) = (Fixture::start(2, 2).await?, Network::reserve()?);
    let others = Echo::start_all("other", &network.pods(2)).await?;
    let other = |pods: &[usize]| {
        let addrs: Vec<_> = pods.iter().map(|pod| others[*pod].addr()).collect();
        fixture.manifests.service("default", "other", 80, &addrs)
    };
    other(&[0])?;
    let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let options = Options::new(&fixture.manifests).arguments(flags);
    let sluice = options.start().await?;
    let pools = Pools {
        fixture: &fixture,
        sluice: &sluice,
    };
    pools.are_kept_through("nothing").await?;

    let route = Ingress::new("default", "other").host("other.test");
    let route = route.path("/", "other", 80);
    fixture.manifests.ingress(&route)?;
    sluice.wait_for_pod("other.test", "other-0").await?;
    pools.are_kept_through("a new host").await?;
    other(&[1])?;
    sluice.wait_for_pod("other.test", "other-1").await?;
    pools.are_kept_through("endpoints of others").await?;

    let named = Ingress::new("default", "web").host(HOST);
    let named = named.path("/", "web", 80).path("/other", "other", 80);
    let named = named.annotation("upstream-vhost", "inside.test");
    fixture.manifests.ingress(&named)?;
    let is_renamed = async || {
        let page = http::send(sluice.http(), &Request::get(HOST, "/other")).await;
        (page.ok()?.json().ok()?["host"] == "inside.test").then_some(())
    };
    wait::until("the route to change", is_renamed).await?;
    pools.are_kept_through("another policy and path").await?;

    for certificate in ["a certificate", "another certificate"] {
        let pair = Pair::renew(&fixture.manifests, "tls", &["tls.test"])?;
        let ingress = presented("tls", "tls.test", "tls");
        fixture.manifests.object(&ingress)?;
        presents(&sluice, "tls.test", &pair).await?;
        pools.are_kept_through(certificate).await?;
    }
    fixture.manifests.remove_object(&route.to_json())?;
    sluice.wait_for_status("other.test", "/", 404).await?;
    pools.are_kept_through("a host that is gone").await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_of_envoy_survive_changes_in_one_route_table() -> Result<()> {
    pools_survive_changes(&[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pools_of_envoy_survive_changes_in_route_scopes() -> Result<()> {
    pools_survive_changes(&["--scopes-from", "0"]).await
}
