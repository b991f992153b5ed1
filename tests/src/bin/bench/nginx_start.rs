//! Cost of a reload for clients: the start-up time of the filter in a new worker, and the longest latency while workers are
//! replaced.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::{Network, Port};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{artifacts, wait};

use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::{median, quantile};

const HOST: &str = "web.test";
const WORKERS: usize = 8;
const RELOADS: usize = 5;
/// Log line of the module when the filter runs in a worker.
const SAID: &str = "sluice: the filter started in ";

/// How long a worker needs for the filter, as it says itself.
pub(crate) struct NginxWorkerStart;

impl NginxWorkerStart {
    pub(crate) fn rows(&self) -> Vec<Row> {
        vec![Row::new("nginx_worker_start_ms", "ms").target(5.0)]
    }

    pub(crate) async fn run(&self) -> Result<Vec<Measured>> {
        let (port, controller) = (Port::reserve()?, Port::reserve()?);
        let filter = artifacts::compiled_filter()?;
        let upstream = controller.addr();
        let http = format!(
            "sluice_wasm {};\nsluice_filter '{{\"schema\":1,\"host\":\"nginx\",\"control\":{{\"upstream\":\"{upstream}\",\
            \"authority\":\"sluice\"}}}}';\nserver {{ listen {}; return 204; }}",
            filter.display(),
            port.addr()
        );
        let conf = Conf::write(&format!("worker_processes {WORKERS};"), &http)?;
        let mut nginx = Nginx::start(conf).await?;
        for _ in 0..RELOADS {
            nginx.reload().await?;
        }
        let expected = WORKERS * (RELOADS + 1);
        let all = async || Some(starts(&nginx)).filter(|starts| starts.len() >= expected);
        let (starts, _) = wait::until("all workers to say how long they took", all).await?;
        nginx.stop()?;
        let millis: Vec<f64> = starts.iter().map(|micros| micros / 1e3).collect();
        let rows = self.rows().into_iter();
        Ok(rows
            .map(|row| row.measured(median(&millis), millis.len()))
            .collect())
    }
}

/// In microseconds.
fn starts(nginx: &Nginx) -> Vec<f64> {
    let said = |line: &str| {
        line.split_once(SAID)?
            .1
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    };
    nginx
        .log()
        .lines()
        .iter()
        .filter_map(|line| said(line))
        .collect()
}

/// The longest that a request takes while nginx reloads for a new host, with the load on connections of their own.
pub(crate) struct NginxReloadStall;

impl NginxReloadStall {
    pub(crate) fn rows(&self) -> Vec<Row> {
        vec![
            Row::new("nginx_reload_stall_ms", "ms"),
            Row::new("nginx_reload_stall_ms/without_reload", "ms"),
        ]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let addrs = network.pods(2);
        let _pods = Echo::start_all("web", &addrs).await?;
        let manifests = Manifests::new()?;
        manifests.service("default", "web", 80, &addrs)?;
        manifests.ingress(
            &Ingress::new("default", "web")
                .host(HOST)
                .path("/", "web", 80),
        )?;
        let options = Options::new(&manifests).data_plane("nginx");
        // Where hosts are in a table, a new one is no reload.
        let no_table = vec!["--nginx-host-table=off".to_owned()];
        let sluice = options.arguments(no_table).start().await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        let (mut quiet, mut stalled) = (Vec::new(), Vec::new());
        for round in 0..effort.rounds {
            let time = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(())
            };
            quiet.push(longest(&sluice, time).await?);
            let change = async {
                let host = format!("more-{round}.test");
                let more = Ingress::new("default", "more")
                    .host(&host)
                    .path("/", "web", 80);
                manifests.ingress(&more)?;
                sluice.wait_for_status(&host, "/", 200).await?;
                // Some of what the old workers still do.
                tokio::time::sleep(Duration::from_millis(300)).await;
                Ok(())
            };
            stalled.push(longest(&sluice, change).await?);
        }
        let values = [&stalled, &quiet].map(|values| quantile(values, 1.0));
        let rows = self.rows().into_iter().zip(values);
        Ok(rows
            .map(|(row, value)| row.measured(value, stalled.len()))
            .collect())
    }
}

/// The longest latency meanwhile, in milliseconds; no request may fail.
async fn longest(sluice: &Sluice, work: impl Future<Output = Result<()>>) -> Result<f64> {
    let request = Request::get(HOST, "/").header("connection", "close");
    let load = Load::new(sluice.http(), request)
        .connections(4)
        .pause(Duration::from_millis(1))
        .start();
    work.await.with_context(|| sluice.log().tail())?;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    Ok(tally.latencies.max().as_secs_f64() * 1e3)
}
