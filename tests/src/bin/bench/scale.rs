//! A folder with very many Ingresses: how long a change of one takes to be served, and how much memory the controller
//! has.
//!
//! A change gives one Ingress another host. The clock starts before its file is written, and ends with the first answer
//! to the new host that is not 404, asked for every millisecond. Meanwhile a host that stays is asked for, too, and
//! must never fail.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::proc;
use sluice_tests::sluice::Sluice;

use crate::Effort;
use crate::applications::application;
use crate::row::{Measured, Row};
use crate::statistics::quantile;

const STAYS: &str = "stays.test";
const LIMIT: Duration = Duration::from_secs(30);
const PERIOD: Duration = Duration::from_millis(1);
/// Between two changes; the second is not to meet the first on its way.
const REST: Duration = Duration::from_millis(100);

/// So many Ingresses, each with a Service and ten endpoints.
pub(crate) struct Scale {
    pub(crate) ingresses: usize,
}

impl Scale {
    pub(crate) fn rows(&self) -> [Row; 3] {
        [
            Row::new(format!("ingress_change_p99_ms/{}", self.ingresses), "ms"),
            Row::new(format!("ingress_change_p50_ms/{}", self.ingresses), "ms"),
            Row::new(format!("controller_rss_mb/{}", self.ingresses), "MB"),
        ]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let _pods = Echo::start_all("web", &network.pods(2)).await?;
        let manifests = Manifests::new()?;
        for n in 0..self.ingresses - 1 {
            let documents = application(n).map(|object| object.to_string());
            manifests.write(&format!("app-{n}.yaml"), &documents.join("\n---\n"))?;
        }
        manifests.service("default", "web", 80, &network.pods(2))?;
        manifests.ingress(&with_host(0))?;
        let sluice = Sluice::start(&manifests).await?;
        sluice.wait_for_status(STAYS, "/", 200).await?;

        let load = Load::new(sluice.http(), Request::get(STAYS, "/")).connections(1).pause(PERIOD).start();
        let mut millis = Vec::new();
        for n in 1..=usize::from(effort.samples) {
            tokio::time::sleep(REST).await;
            let start = Instant::now();
            manifests.ingress(&with_host(n))?;
            served(sluice.http(), &host(n)).await?;
            millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let tally = load.stop().await?;
        ensure!(tally.failed() == 0, "{tally}");
        let megabytes = proc::resident_memory(sluice.pid())? as f64 / 1e6;
        let [p99, p50, memory] = self.rows();
        let measured = |row: Row, share| row.measured(quantile(&millis, share), millis.len());
        Ok(vec![measured(p99, 0.99), measured(p50, 0.5), memory.measured(megabytes, 1)])
    }
}

fn host(n: usize) -> String {
    format!("changes-{n}.test")
}

fn with_host(n: usize) -> Ingress {
    Ingress::new("default", "web").host(STAYS).path("/", "web", 80).host(&host(n)).path("/", "web", 80)
}

/// Waits until the host is served.
async fn served(addr: SocketAddr, host: &str) -> Result<()> {
    let (start, request) = (Instant::now(), Request::get(host, "/"));
    let mut connection = Connection::open(addr).await?;
    while start.elapsed() < LIMIT {
        match connection.send(&request).await.context(host.to_owned())?.status {
            200 => return Ok(()),
            404 => tokio::time::sleep(PERIOD).await,
            status => bail!("{host}: expected 404 and then 200, got {status}"),
        }
    }
    bail!("waited {} s for {host}", LIMIT.as_secs())
}
