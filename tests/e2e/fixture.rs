//! The site that most tests serve: one Service, one Ingress, a few pods.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::wait;

/// The host of the Ingress.
pub(crate) const HOST: &str = "web.test";

/// Pods web-0, web-1 ... and the manifests that name them.
pub(crate) struct Fixture {
    pub(crate) pods: Vec<Echo>,
    pub(crate) manifests: Manifests,
    _network: Network,
}

impl Fixture {
    /// Starts the pods; the EndpointSlice names the first `ready` of them.
    pub(crate) async fn start(pods: u16, ready: usize) -> Result<Fixture> {
        let network = Network::reserve()?;
        let fixture = Fixture {
            pods: Echo::start_all("web", &network.pods(pods)).await?,
            manifests: Manifests::new()?,
            _network: network,
        };
        let first: Vec<SocketAddr> = fixture.pods.iter().take(ready).map(Echo::addr).collect();
        fixture.manifests.service("default", "web", 80, &first)?;
        fixture.manifests.ingress(
            &Ingress::new("default", "web")
                .host(HOST)
                .path("/", "web", 80),
        )?;
        Ok(fixture)
    }

    /// Makes these pods the only endpoints.
    pub(crate) fn endpoints(&self, pods: &[usize]) -> Result<()> {
        let addrs: Vec<SocketAddr> = pods.iter().map(|pod| self.pods[*pod].addr()).collect();
        self.manifests.endpoints("default", "web", &addrs)
    }

    /// Waits until a pod gets no more requests, though the others do.
    pub(crate) async fn wait_until_idle(&self, pod: usize) -> Result<()> {
        let pod = &self.pods[pod];
        let quiet = async || {
            let hits = pod.hits();
            tokio::time::sleep(Duration::from_millis(100)).await;
            (pod.hits() == hits).then_some(())
        };
        wait::until(&format!("{} to be left alone", pod.name()), quiet)
            .await
            .map(drop)
    }
}

/// A request for the site.
pub(crate) fn page() -> Request {
    Request::get(HOST, "/")
}

/// Each of these pods, and no other, answers its share of requests that come one after the other.
pub(crate) async fn ensure_even_spread(addr: SocketAddr, pods: &[usize]) -> Result<()> {
    let each = 20;
    let count = each * pods.len() as u64;
    let load = Load::new(addr, page()).connections(1).max_requests(count);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(tally.failed() == 0 && tally.total() == count, "{tally}");
    for pod in pods {
        let answered = tally.pod(&format!("web-{pod}"));
        ensure!(
            answered.abs_diff(each) <= 1,
            "web-{pod} answered {answered} of {count}: {:?}",
            tally.by_pod
        );
    }
    Ok(())
}
