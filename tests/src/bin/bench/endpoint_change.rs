//! How long a change of endpoints takes: from the file's change to the first request that the new pod answers.
//!
//! The clock starts before the new file is written and renamed into the folder. Requests come on four connections, each
//! a millisecond after its last answer, which is how finely the end is seen. None may fail.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use tokio::task::JoinHandle;
use tokio::time::interval;

use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::quantile;

const HOST: &str = "web.test";
const TARGET_MS: f64 = 50.0;
/// Services whose endpoints change meanwhile.
const OTHERS: u16 = 50;
/// Between two changes; the second is not to meet the first on its way.
const REST: Duration = Duration::from_millis(50);

/// Background changes in the folder.
pub(crate) enum EndpointChange {
    /// Nothing.
    Idle,
    /// So many changes of other Services' endpoints in a second.
    Churn(u16),
}

impl EndpointChange {
    pub(crate) fn rows(&self) -> [Row; 2] {
        let beside = match self {
            EndpointChange::Idle => "idle".to_owned(),
            EndpointChange::Churn(rate) => format!("churn_{rate}"),
        };
        [
            Row::new(format!("endpoint_change_p99_ms/{beside}"), "ms").target(TARGET_MS),
            Row::new(format!("endpoint_change_p50_ms/{beside}"), "ms"),
        ]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        // Each change brings a pod that was never seen, so the first answer of a name is that of the change.
        let pods = Echo::start_all("web", &network.pods(effort.samples + 2)).await?;
        let manifests = Arc::new(Manifests::new()?);
        manifests.service("default", "web", 80, &pair(&pods, 0))?;
        manifests.ingress(
            &Ingress::new("default", "web")
                .host(HOST)
                .path("/", "web", 80),
        )?;
        let others = Network::reserve()?;
        for n in 0..OTHERS {
            let name = other(n);
            manifests.service("default", &name, 80, &others.pods(3))?;
            let host = format!("{name}.test");
            manifests.ingress(
                &Ingress::new("default", &name)
                    .host(&host)
                    .path("/", &name, 80),
            )?;
        }
        let sluice = Sluice::start(&manifests).await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        let churn = match self {
            EndpointChange::Idle => None,
            EndpointChange::Churn(rate) => {
                Some(Churn::start(*rate, Arc::clone(&manifests), others))
            }
        };
        let millis = changes(&sluice, &manifests, &pods).await?;
        if let Some(churn) = churn {
            churn.stop().await?;
        }
        let [p99, p50] = self.rows();
        let measured = |row: Row, share| row.measured(quantile(&millis, share), millis.len());
        Ok(vec![measured(p99, 0.99), measured(p50, 0.5)])
    }
}

fn pair(pods: &[Echo], n: usize) -> Vec<SocketAddr> {
    pods[n..n + 2].iter().map(Echo::addr).collect()
}

fn other(n: u16) -> String {
    format!("other-{n}")
}

/// How long each change took, in milliseconds.
async fn changes(sluice: &Sluice, manifests: &Manifests, pods: &[Echo]) -> Result<Vec<f64>> {
    let load = Load::new(sluice.http(), Request::get(HOST, "/"))
        .connections(4)
        .pause(Duration::from_millis(1));
    let load = load.start();
    let mut changed = Vec::new();
    for n in 1..pods.len() - 1 {
        changed.push(Instant::now());
        manifests.endpoints("default", "web", &pair(pods, n))?;
        let new = pods[n + 1].name();
        load.until(&format!("traffic on {new}"), |tally| tally.pod(new) > 0)
            .await?;
        tokio::time::sleep(REST).await;
    }
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    let arrivals = pods
        .iter()
        .skip(2)
        .map(|pod| tally.by_pod[pod.name()].first);
    Ok(changed
        .into_iter()
        .zip(arrivals)
        .map(|(from, to)| (to - from).as_secs_f64() * 1e3)
        .collect())
}

/// Changes of the others' endpoints in the background.
struct Churn {
    rate: u16,
    started: Instant,
    stop: Arc<tokio::sync::Notify>,
    task: JoinHandle<Result<u64>>,
}

impl Churn {
    fn start(rate: u16, manifests: Arc<Manifests>, network: Network) -> Churn {
        let stop = Arc::new(tokio::sync::Notify::new());
        let task = tokio::spawn(churn(rate, manifests, network, Arc::clone(&stop)));
        Churn {
            rate,
            started: Instant::now(),
            stop,
            task,
        }
    }

    /// Fails when there were not as many changes as the row promises.
    async fn stop(self) -> Result<()> {
        let elapsed = self.started.elapsed();
        self.stop.notify_one();
        let changes = self.task.await.context("the churn")??;
        let rate = changes as f64 / elapsed.as_secs_f64();
        ensure!(
            rate > 0.9 * f64::from(self.rate),
            "expected {} changes a second, got {rate:.0}",
            self.rate
        );
        Ok(())
    }
}

/// One of the others at a time gets pods that it did not have; how many changes there were.
async fn churn(
    rate: u16,
    manifests: Arc<Manifests>,
    network: Network,
    stop: Arc<tokio::sync::Notify>,
) -> Result<u64> {
    let mut ticks = interval(Duration::from_secs(1) / u32::from(rate));
    let mut changes = 0;
    for (round, n) in (0..1000_u16)
        .cycle()
        .flat_map(|round| (0..OTHERS).map(move |n| (round, n)))
    {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.notified() => break,
        }
        let first = 3 + round;
        let pods: Vec<SocketAddr> = (first..first + 3).map(|pod| network.pod(pod)).collect();
        manifests.endpoints("default", &other(n), &pods)?;
        changes += 1;
    }
    Ok(changes)
}
