//! What a request costs Envoy with Sluice in it, beside what it costs without.
//!
//! CPU time per request is the number to look at: requests per second also measure the load and the pods, which
//! share the cores. Rounds alternate, so that a slow minute of the machine meets both.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::envoy::Envoy;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::{Network, Port};
use sluice_tests::proc;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;

use super::{native, report};

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(3);
const HOST: &str = "web.test";

/// One round.
struct Sample {
    cpu_micros: f64,
    rate: f64,
    p50: Duration,
    p99: Duration,
}

pub(crate) async fn run() -> Result<()> {
    let (network, port) = (Network::reserve()?, Port::reserve()?);
    let pods = Echo::start_all("web", &network.pods(4)).await?;
    // The pods' own work is not what is measured.
    let small = Answer { body: Some("ok".to_owned()), ..Answer::default() };
    pods.iter().for_each(|pod| pod.script(Script::echo().answer("*", small.clone())));

    let mut native = Envoy::start(&native::bootstrap(port.addr(), &network.pods(4))).await?;
    native.ready().await?;
    let manifests = Manifests::new()?;
    manifests.service("default", "web", 80, &network.pods(4))?;
    manifests.ingress(&Ingress::new("default", "web").host(HOST).path("/", "web", 80))?;
    let sluice = Sluice::start(&manifests).await?;
    let envoy = sluice.envoy_pid().context("the controller runs no Envoy")?;

    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(sample(port.addr(), native.pid()).await?);
        with.push(sample(sluice.http(), envoy).await?);
    }
    report(&format!("throughput: medians of {ROUNDS} rounds of {} s, one Envoy worker", ROUND.as_secs()))?;
    let (without, with) = (line("Envoy alone", without)?, line("Envoy with Sluice", with)?);
    report(&format!("  {:<20} {:>8.1} us CPU more, x {:.2}", "difference", with - without, with / without))
}

async fn sample(addr: SocketAddr, envoy: u32) -> Result<Sample> {
    let before = proc::cpu_time(envoy)?;
    let tally = Load::new(addr, Request::get(HOST, "/")).connections(16).run_for(ROUND).await?;
    let used = proc::cpu_time(envoy)? - before;
    ensure!(tally.failed() == 0, "{tally}");
    Ok(Sample {
        cpu_micros: used.as_secs_f64() * 1e6 / tally.total() as f64,
        rate: tally.rate(),
        p50: tally.latencies.quantile(0.5),
        p99: tally.latencies.quantile(0.99),
    })
}

/// Reports the medians; the CPU time per request in microseconds.
fn line(name: &str, samples: Vec<Sample>) -> Result<f64> {
    let median = |of: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let cpu = median(|sample| sample.cpu_micros);
    let (rate, millis) = (median(|sample| sample.rate), |of: fn(&Sample) -> f64| median(of) * 1e3);
    let p50 = millis(|sample| sample.p50.as_secs_f64());
    let p99 = millis(|sample| sample.p99.as_secs_f64());
    report(&format!(
        "  {name:<20} {cpu:>8.1} us CPU/request {rate:>8.0} requests/s   p50 {p50:.2} ms   p99 {p99:.2} ms"
    ))?;
    Ok(cpu)
}
