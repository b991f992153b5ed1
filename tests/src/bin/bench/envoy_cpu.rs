//! What a request costs Envoy with Sluice in it, beside what it costs Envoy's own round robin.
//!
//! CPU time of the whole Envoy process per request, the filter's polling included. Requests per second would also
//! measure the load and the pods, which share the cores. Rounds alternate, so that a slow minute of the machine meets
//! both sides.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::envoy::Envoy;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::{Network, Port};
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{self, Options, wait_for_status};

use crate::row::{Measured, Row};
use crate::statistics::median;
use crate::{Effort, native};

const HOST: &str = "web.test";
const PODS: u16 = 4;
const CONNECTIONS: usize = 16;
/// Who come in turn, where each has a session.
const CLIENTS: usize = 1000;
/// The policy that Envoy itself is measured with.
const NATIVE: &str = "round_robin";

/// A balancing policy of ours against Envoy's round robin.
pub(crate) struct EnvoyCpu {
    pub(crate) policy: &'static str,
    /// Of the Ingress, to choose that policy.
    pub(crate) annotations: &'static [(&'static str, &'static str)],
    /// Clients have sessions, each its own.
    pub(crate) sessions: bool,
    pub(crate) target: f64,
}

impl EnvoyCpu {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = vec![
            Row::new(format!("envoy_cpu_ratio/{}", self.policy), "ratio").target(self.target),
            Row::new(format!("envoy_cpu_us/{}", self.policy), "us"),
        ];
        // Measured every time, shown once.
        if self.policy == NATIVE {
            rows.push(Row::new(format!("envoy_cpu_us/native_{NATIVE}"), "us"));
        }
        rows
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let pods = Echo::start_all("web", &network.pods(PODS)).await?;
        // The pods' own work is not what is measured.
        let small = Answer { body: Some("ok".to_owned()), ..Answer::default() };
        pods.iter().for_each(|pod| pod.script(Script::echo().answer("*", small.clone())));
        let native_port = Port::reserve()?;
        let native = native::bootstrap(&manifests(&network, &[])?, native_port.addr()).await?;
        let native = Side::start(&native, native_port.addr(), self.requests()).await?;
        let (manifests, port) = (manifests(&network, self.annotations)?, Port::reserve()?);
        let controller = Options::new(&manifests).without_data_plane().http(port.addr()).start().await?;
        let bootstrap = sluice::bootstrap(controller.xds(), "bench")?;
        let ours = Side::start(&bootstrap, port.addr(), self.requests()).await?;

        let (mut natives, mut our) = (Vec::new(), Vec::new());
        for round in 0..effort.rounds {
            // Who is first changes, too: what the first leaves behind (a warm cache, a clock boost) is the second's.
            if round % 2 == 0 {
                natives.push(native.round(effort).await?);
                our.push(ours.round(effort).await?);
            } else {
                our.push(ours.round(effort).await?);
                natives.push(native.round(effort).await?);
            }
        }
        Ok(self.measured(median(&our), median(&natives), natives.len()))
    }

    /// The same to both sides. Any text is the key of a session, whoever wrote it.
    fn requests(&self) -> Vec<Request> {
        let request = Request::get(HOST, "/");
        let of_client =
            |n| request.clone().header("cookie", &format!("INGRESSCOOKIE=1700000000.{n:03}.7.{n}"));
        if self.sessions { (0..CLIENTS).map(of_client).collect() } else { vec![request] }
    }

    fn measured(&self, ours: f64, native: f64, rounds: usize) -> Vec<Measured> {
        let ratio = ours / native;
        let values = [ratio, ours, native].into_iter();
        let mut rows: Vec<Measured> =
            self.rows().into_iter().zip(values).map(|(row, value)| row.measured(value, rounds)).collect();
        for compared in rows.iter_mut().take(2) {
            *compared = compared.clone().compared(native, ratio);
        }
        rows
    }
}

fn manifests(network: &Network, annotations: &[(&str, &str)]) -> Result<Manifests> {
    let manifests = Manifests::new()?;
    manifests.service("default", "web", 80, &network.pods(PODS))?;
    let ingress = Ingress::new("default", "web").host(HOST).path("/", "web", 80);
    let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
    manifests.ingress(&ingress)?;
    Ok(manifests)
}

/// One of the two Envoys. Both are started alike, with one worker.
struct Side {
    envoy: Envoy,
    addr: SocketAddr,
    requests: Vec<Request>,
}

impl Side {
    /// Warm: the filter has its tables, and connections to all pods are open.
    async fn start(bootstrap: &str, addr: SocketAddr, requests: Vec<Request>) -> Result<Side> {
        let mut envoy = Envoy::start(bootstrap).await?;
        envoy.ready().await?;
        wait_for_status(addr, HOST, "/", 200).await?;
        let side = Side { envoy, addr, requests };
        side.load(Duration::from_millis(500)).await?;
        Ok(side)
    }

    /// CPU microseconds per request.
    async fn round(&self, effort: Effort) -> Result<f64> {
        let before = self.envoy.cpu_time()?;
        let requests = self.load(Duration::from_secs(effort.seconds.into())).await?;
        let used = self.envoy.cpu_time()? - before;
        Ok(used.as_secs_f64() * 1e6 / requests as f64)
    }

    async fn load(&self, time: Duration) -> Result<u64> {
        let load = Load::of(self.addr, self.requests.clone()).connections(CONNECTIONS);
        let tally = load.run_for(time).await?;
        ensure!(tally.failed() == 0 && tally.total() > 0, "{tally}");
        Ok(tally.total())
    }
}
