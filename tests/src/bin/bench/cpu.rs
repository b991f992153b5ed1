//! CPU time per request, with Sluice and with the data plane's own round robin: in the configuration that Sluice writes, and in the
//! smallest one.
//!
//! All that the processes of a data plane use counts, the filter's polling included. Requests per second would also
//! measure the load and the pods, which share the cores. Rounds alternate, so that a slow minute of the machine meets
//! both sides.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::proc;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::wait_for_status;

use crate::row::{Measured, Row};
use crate::statistics::median;
use crate::{Effort, envoy_cpu, nginx_cpu};

const HOST: &str = "web.test";
const PODS: u16 = 4;
const CONNECTIONS: usize = 16;
/// Number of clients with sessions, which take turns.
const CLIENTS: usize = 1000;
/// The policy that a data plane itself is measured with.
const NATIVE: &str = "round_robin";

#[derive(Clone, Copy)]
pub(crate) enum DataPlane {
    /// With the filter as its module.
    Envoy,
    /// With the filter as wasm.
    EnvoyWasm,
    /// With the filter in its module.
    Nginx,
    /// With the filter as wasm.
    NginxWasm,
}

/// How requests are balanced.
#[derive(Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) name: &'static str,
    /// Of the Ingress, to choose it.
    pub(crate) annotations: &'static [(&'static str, &'static str)],
    /// Clients have sessions, each its own.
    pub(crate) sessions: bool,
    /// Of our controller, beside the usual ones.
    pub(crate) flags: &'static [&'static str],
    /// The host, as clients write it.
    pub(crate) asked: &'static str,
}

/// The configuration of the data plane that balances by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// The one that Sluice writes, without the filter: what balancing costs.
    Native,
    /// Nothing but the pods: what all of Sluice costs.
    Plain,
}

/// A policy of ours against the data plane's round robin.
pub(crate) struct Cpu {
    pub(crate) data_plane: DataPlane,
    pub(crate) policy: Policy,
    pub(crate) baseline: Baseline,
    pub(crate) target: Option<f64>,
}

impl Cpu {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let name = match self.data_plane {
            DataPlane::Envoy => "envoy",
            DataPlane::EnvoyWasm => "envoy_wasm",
            DataPlane::Nginx => "nginx",
            DataPlane::NginxWasm => "nginx_wasm",
        };
        let policy = self.policy.name;
        let ratio = |kind: &str| Row {
            target: self.target,
            ..Row::new(format!("{name}_cpu_{kind}/{policy}"), "ratio")
        };
        let us = |of: &str| Row::new(format!("{name}_cpu_us/{of}"), "us");
        match self.baseline {
            // The baseline is measured every time, and shown once.
            Baseline::Native if policy == NATIVE => {
                vec![ratio("ratio"), us(policy), us(&format!("native_{NATIVE}"))]
            }
            Baseline::Native => vec![ratio("ratio"), us(policy)],
            Baseline::Plain => vec![
                ratio("over_plain"),
                us(&format!("{policy}_beside_plain")),
                us(&format!("plain_{NATIVE}")),
            ],
        }
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        match self.data_plane {
            DataPlane::Envoy | DataPlane::EnvoyWasm => envoy_cpu::run(self, effort).await,
            DataPlane::Nginx | DataPlane::NginxWasm => nginx_cpu::run(self, effort).await,
        }
    }

    /// Both are there, and each has one worker: in turn, for as many rounds as wanted.
    pub(crate) async fn compare(
        &self,
        ours: &Side,
        native: &Side,
        effort: Effort,
    ) -> Result<Vec<Measured>> {
        let requests = self.requests();
        for side in [ours, native] {
            side.warm_up(&requests).await?;
        }
        let (mut our, mut natives) = (Vec::new(), Vec::new());
        for round in 0..effort.rounds {
            // Who is first changes, too: what the first leaves behind (a warm cache, a clock boost) is the second's.
            if round % 2 == 0 {
                natives.push(native.round(&requests, effort).await?);
                our.push(ours.round(&requests, effort).await?);
            } else {
                our.push(ours.round(&requests, effort).await?);
                natives.push(native.round(&requests, effort).await?);
            }
        }
        Ok(self.measured(median(&our), median(&natives), natives.len()))
    }

    /// The same to both sides. Any text is the key of a session, whoever wrote it.
    fn requests(&self) -> Vec<Request> {
        let request = Request::get(self.policy.asked, "/");
        let of_client = |n| {
            request
                .clone()
                .header("cookie", &format!("INGRESSCOOKIE=1700000000.{n:03}.7.{n}"))
        };
        if self.policy.sessions {
            (0..CLIENTS).map(of_client).collect()
        } else {
            vec![request]
        }
    }

    fn measured(&self, ours: f64, native: f64, rounds: usize) -> Vec<Measured> {
        let ratio = ours / native;
        let values = [ratio, ours, native].into_iter();
        let mut rows: Vec<Measured> = self
            .rows()
            .into_iter()
            .zip(values)
            .map(|(row, value)| row.measured(value, rounds))
            .collect();
        for compared in rows.iter_mut().take(2) {
            *compared = compared.clone().compared(native, ratio);
        }
        rows
    }
}

/// Has pods answer with two bytes: their own work is not what is measured.
pub(crate) fn answer_in_short(pods: &[Echo]) {
    let small = Answer {
        body: Some("ok".to_owned()),
        ..Answer::default()
    };
    for pod in pods {
        pod.script(Script::echo().answer("*", small.clone()));
    }
}

/// The pods behind both sides.
pub(crate) struct Site {
    pub(crate) pods: Vec<SocketAddr>,
    _echoes: Vec<Echo>,
    _network: Network,
}

impl Site {
    pub(crate) async fn start() -> Result<Site> {
        let network = Network::reserve()?;
        let pods = network.pods(PODS);
        let echoes = Echo::start_all("web", &pods).await?;
        answer_in_short(&echoes);
        Ok(Site {
            pods,
            _echoes: echoes,
            _network: network,
        })
    }

    /// Manifests of one Service behind one host.
    pub(crate) fn manifests(&self, annotations: &[(&str, &str)]) -> Result<Manifests> {
        let manifests = Manifests::new()?;
        manifests.service("default", "web", 80, &self.pods)?;
        let ingress = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80);
        let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        manifests.ingress(&ingress)?;
        Ok(manifests)
    }
}

/// One of the two: where it is asked, and the processes that answer.
pub(crate) struct Side {
    pub(crate) addr: SocketAddr,
    pub(crate) processes: Vec<u32>,
}

impl Side {
    /// The filter has its tables, and connections to all pods are open.
    async fn warm_up(&self, requests: &[Request]) -> Result<()> {
        wait_for_status(self.addr, HOST, "/", 200).await?;
        self.load(requests, Duration::from_millis(500))
            .await
            .map(drop)
    }

    /// CPU microseconds per request.
    async fn round(&self, requests: &[Request], effort: Effort) -> Result<f64> {
        let before = self.cpu_time()?;
        let count = self
            .load(requests, Duration::from_secs(effort.seconds.into()))
            .await?;
        let used = self.cpu_time()? - before;
        Ok(used.as_secs_f64() * 1e6 / count as f64)
    }

    /// Fails when one of them is not there any more: the rest would have worked for nothing.
    fn cpu_time(&self) -> Result<Duration> {
        self.processes
            .iter()
            .map(|process| proc::cpu_time(*process))
            .sum()
    }

    async fn load(&self, requests: &[Request], time: Duration) -> Result<u64> {
        let load = Load::of(self.addr, requests.to_vec()).connections(CONNECTIONS);
        let tally = load.run_for(time).await?;
        ensure!(tally.failed() == 0 && tally.total() > 0, "{tally}");
        Ok(tally.total())
    }
}
