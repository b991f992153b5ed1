//! How long a change of endpoints takes from the file to the first request on the new pod, and to the last on the old.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::latency::Latencies;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;

use super::report;

const CHANGES: usize = 40;
const HOST: &str = "web.test";

pub(crate) async fn run() -> Result<()> {
    let network = Network::reserve()?;
    // Each change brings a pod that was never seen, so the first answer of a name is that of the change.
    let pods = Echo::start_all("web", &network.pods(u16::try_from(CHANGES)? + 2)).await?;
    let pair = |n: usize| -> Vec<SocketAddr> { pods[n..n + 2].iter().map(Echo::addr).collect() };
    let manifests = Manifests::new()?;
    manifests.service("default", "web", 80, &pair(0))?;
    manifests.ingress(&Ingress::new("default", "web").host(HOST).path("/", "web", 80))?;
    let sluice = Sluice::start(&manifests).await?;

    let load =
        Load::new(sluice.http(), Request::get(HOST, "/")).connections(4).pause(Duration::from_millis(1));
    let load = load.start();
    let mut changed = Vec::new();
    for n in 1..=CHANGES {
        changed.push(Instant::now());
        manifests.endpoints("default", "web", &pair(n))?;
        let new = pods[n + 1].name();
        load.until(&format!("traffic on {new}"), |tally| tally.pod(new) > 0).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    let (mut joined, mut left) = (Latencies::default(), Latencies::default());
    for (n, changed) in changed.into_iter().enumerate() {
        joined.record(tally.by_pod[pods[n + 2].name()].first - changed);
        left.record(tally.by_pod[pods[n].name()].last.saturating_duration_since(changed));
    }
    report(&format!(
        "change: {CHANGES} changes under load, from the file's rename; 0 of {} failed",
        tally.total()
    ))?;
    line("first answer, new pod", &joined)?;
    line("last answer, old pod", &left)
}

fn line(name: &str, latencies: &Latencies) -> Result<()> {
    let millis = |share| latencies.quantile(share).as_secs_f64() * 1e3;
    let max = latencies.max().as_secs_f64() * 1e3;
    report(&format!(
        "  {name:<22} p50 {:>6.1} ms   p90 {:>6.1} ms   max {max:>6.1} ms",
        millis(0.5),
        millis(0.9)
    ))
}
