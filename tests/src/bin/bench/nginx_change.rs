//! How long a change of one endpoint takes until every worker of nginx serves it, among very many endpoints.
//!
//! The clock starts before the new file is written and renamed into the folder. Each worker is asked on a connection of
//! its own, again a millisecond after each answer; the sample ends with the last worker's first answer of the new pod.
//! None may fail, and nginx may not reload.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::process;
use sluice_tests::sluice::{Options, Sluice};

use crate::Effort;
use crate::applications::{PODS, application};
use crate::nginx_cpu::workers;
use crate::row::{Measured, Row};
use crate::statistics::quantile;

const HOST: &str = "web.test";
const WORKERS: usize = 2;
const PERIOD: Duration = Duration::from_millis(1);
const LIMIT: Duration = Duration::from_secs(30);
/// Between two changes; the second is not to meet the first on its way.
const REST: Duration = Duration::from_millis(50);

/// Among so many endpoints.
pub(crate) struct NginxChange {
    pub(crate) endpoints: usize,
    pub(crate) target: Option<f64>,
}

impl NginxChange {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = Row::new(format!("nginx_change_ms/{}", self.endpoints), "ms");
        vec![Row {
            target: self.target,
            ..row
        }]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        // Each change brings a pod that was never seen, so the first answer of a name is that of the change.
        let pods = Echo::start_all("web", &network.pods(effort.samples + 1)).await?;
        let manifests = Manifests::new()?;
        for n in 0..self.endpoints / usize::from(PODS) {
            let objects: Vec<String> = application(n).iter().map(ToString::to_string).collect();
            manifests.write(&format!("app-{n}.yaml"), &objects.join("\n---\n"))?;
        }
        manifests.service("default", "web", 80, &[pods[0].addr()])?;
        manifests.ingress(
            &Ingress::new("default", "web")
                .host(HOST)
                .path("/", "web", 80),
        )?;
        let sluice = Options::new(&manifests)
            .data_plane("nginx")
            .workers(WORKERS)
            .start()
            .await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        let workers = workers(&sluice)?;
        let mut connections = of_each(sluice.http(), &workers).await?;
        let mut millis = Vec::new();
        for pod in pods.iter().skip(1) {
            tokio::time::sleep(REST).await;
            let start = Instant::now();
            manifests.endpoints("default", "web", &[pod.addr()])?;
            all_reach(&mut connections, pod.name())
                .await
                .with_context(|| sluice.log().tail())?;
            millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
        unchanged(&sluice, &workers)?;
        Ok(self
            .rows()
            .into_iter()
            .map(|row| row.measured(quantile(&millis, 0.99), millis.len()))
            .collect())
    }
}

fn unchanged(sluice: &Sluice, before: &[u32]) -> Result<()> {
    ensure!(
        workers(sluice)? == before,
        "nginx has other workers than before"
    );
    Ok(())
}

/// A connection to each worker: the others stand still while it is made.
async fn of_each(addr: SocketAddr, workers: &[u32]) -> Result<Vec<Connection>> {
    let mut connections = Vec::new();
    for worker in workers {
        let others = || workers.iter().filter(|other| *other != worker);
        others().try_for_each(|other| process::signal_by_name(*other, "SIGSTOP"))?;
        let connection = served(addr).await;
        others().try_for_each(|other| process::signal_by_name(*other, "SIGCONT"))?;
        connections.push(connection?);
    }
    Ok(connections)
}

async fn served(addr: SocketAddr) -> Result<Connection> {
    let mut connection = Connection::open(addr).await?;
    let request = Request::get(HOST, "/");
    let answer = tokio::time::timeout(LIMIT, connection.send(&request));
    ensure!(answer.await.context("no answer in time")??.status == 200);
    Ok(connection)
}

/// Waits until this pod answers on every connection, on one after the other: a worker that is asked late is asked once.
async fn all_reach(connections: &mut [Connection], pod: &str) -> Result<()> {
    for connection in connections {
        reaches(connection, pod).await?;
    }
    Ok(())
}

async fn reaches(connection: &mut Connection, pod: &str) -> Result<()> {
    let (start, request) = (Instant::now(), Request::get(HOST, "/"));
    while start.elapsed() < LIMIT {
        let response = connection.send(&request).await?;
        ensure!(response.status == 200, "{HOST} answers {}", response.status);
        if response.pod() == Some(pod) {
            return Ok(());
        }
        tokio::time::sleep(PERIOD).await;
    }
    bail!("waited {} s for {pod}", LIMIT.as_secs())
}
