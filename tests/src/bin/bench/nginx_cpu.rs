//! What a request costs nginx with Sluice in it, beside what it costs nginx's own round robin.
//!
//! CPU time of the workers per request, the filter's polling included; rounds alternate, as for Envoy. What Sluice is
//! compared with is an nginx with the very configuration that Sluice gives to one, without the module: the same headers,
//! variables, timeouts and pooling. These parts go, and a part that is not there to be removed is an error:
//!
//! - the module, the filter and its configuration;
//! - `sluice_peer` and the server that answers where the filter has chosen nobody; the pods stand there instead.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::{Network, Port};
use sluice_tests::proc;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{Options, Sluice, wait_for_status};

use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::median;

const HOST: &str = "web.test";
const PODS: u16 = 4;
const CONNECTIONS: usize = 16;
const NATIVE: &str = "round_robin";

/// A balancing policy of ours against nginx's round robin.
pub(crate) struct NginxCpu {
    pub(crate) policy: &'static str,
    /// Of the Ingress, to choose that policy.
    pub(crate) annotations: &'static [(&'static str, &'static str)],
    /// Of every request: a session that exists.
    pub(crate) cookie: Option<&'static str>,
    pub(crate) target: f64,
}

impl NginxCpu {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = vec![
            Row::new(format!("nginx_cpu_ratio/{}", self.policy), "ratio").target(self.target),
            Row::new(format!("nginx_cpu_us/{}", self.policy), "us"),
        ];
        // Measured every time, shown once.
        if self.policy == NATIVE {
            rows.push(Row::new(format!("nginx_cpu_us/native_{NATIVE}"), "us"));
        }
        rows
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let addrs = network.pods(PODS);
        let pods = Echo::start_all("web", &addrs).await?;
        // The pods' own work is not what is measured.
        let small = Answer { body: Some("ok".to_owned()), ..Answer::default() };
        pods.iter().for_each(|pod| pod.script(Script::echo().answer("*", small.clone())));
        let manifests = manifests(&addrs, self.annotations)?;
        let sluice = Options::new(&manifests).data_plane("nginx").start().await?;
        let port = Port::reserve()?;
        let nginx = Nginx::start(native(&sluice, port.addr(), &addrs)?).await?;
        let ours = Side::start(sluice.http(), self.request(), workers(&sluice)?).await?;
        let native = Side::start(port.addr(), self.request(), nginx.workers()).await?;

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

    /// The same to both sides.
    fn request(&self) -> Request {
        let request = Request::get(HOST, "/");
        self.cookie.iter().fold(request, |request, cookie| request.header("cookie", cookie))
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

fn manifests(pods: &[SocketAddr], annotations: &[(&str, &str)]) -> Result<Manifests> {
    let manifests = Manifests::new()?;
    manifests.service("default", "web", 80, pods)?;
    let ingress = Ingress::new("default", "web").host(HOST).path("/", "web", 80);
    let ingress = annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value));
    manifests.ingress(&ingress)?;
    Ok(manifests)
}

/// The workers of the nginx that a controller runs.
pub(crate) fn workers(sluice: &Sluice) -> Result<Vec<u32>> {
    let masters = proc::children(sluice.pid());
    let workers = proc::children(*masters.first().context("the controller has no nginx")?);
    ensure!(!workers.is_empty(), "nginx has no workers");
    Ok(workers)
}

/// The configuration of the controller's nginx, for one that serves here by itself.
fn native(sluice: &Sluice, listen: SocketAddr, pods: &[SocketAddr]) -> Result<Conf> {
    let folder = sluice.run_dir().join("nginx");
    let text = fs::read_to_string(folder.join("nginx.conf")).context("the controller's nginx.conf")?;
    Conf::whole(|own| {
        let text = without_filter(&text, pods)?;
        let text = replaced(&text, &sluice.http().to_string(), &listen.to_string())?;
        // Nobody asks for https.
        let text = replaced(&text, &sluice.https().to_string(), "unix:https.sock")?;
        replaced(&text, &folder.display().to_string(), &own.display().to_string())
    })
}

fn without_filter(text: &str, pods: &[SocketAddr]) -> Result<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    for directive in ["load_module ", "  sluice_wasm ", "  sluice_filter "] {
        let before = lines.len();
        lines.retain(|line| !line.starts_with(directive));
        ensure!(lines.len() + 1 == before, "expected one line {directive:?}, got {}", before - lines.len());
    }
    let text = replaced(&lines.join("\n"), "    sluice_filter off;\n", "")?;
    let servers: String = pods.iter().map(|pod| format!("    server {pod};\n")).collect();
    let (before, rest) = text.split_once("  upstream sluice_pods {\n").context("there is no upstream")?;
    let (_, after) = rest.split_once("    sluice_peer;\n").context("the upstream has no sluice_peer")?;
    Ok(format!("{before}  upstream sluice_pods {{\n{servers}{after}"))
}

fn replaced(text: &str, what: &str, by: &str) -> Result<String> {
    ensure!(text.contains(what), "there is no {what:?} in the configuration");
    Ok(text.replace(what, by))
}

/// One of the two, with one worker.
struct Side {
    addr: SocketAddr,
    request: Request,
    workers: Vec<u32>,
}

impl Side {
    /// Warm: the filter has its tables, and connections to all pods are open.
    async fn start(addr: SocketAddr, request: Request, workers: Vec<u32>) -> Result<Side> {
        wait_for_status(addr, HOST, "/", 200).await?;
        let side = Side { addr, request, workers };
        side.load(Duration::from_millis(500)).await?;
        Ok(side)
    }

    /// CPU microseconds per request.
    async fn round(&self, effort: Effort) -> Result<f64> {
        let before = self.cpu_time()?;
        let requests = self.load(Duration::from_secs(effort.seconds.into())).await?;
        let used = self.cpu_time()? - before;
        Ok(used.as_secs_f64() * 1e6 / requests as f64)
    }

    /// Fails when one of them is not there any more: the rest would have worked for nothing.
    fn cpu_time(&self) -> Result<Duration> {
        self.workers.iter().map(|worker| proc::cpu_time(*worker)).sum()
    }

    async fn load(&self, time: Duration) -> Result<u64> {
        let load = Load::new(self.addr, self.request.clone()).connections(CONNECTIONS);
        let tally = load.run_for(time).await?;
        ensure!(tally.failed() == 0 && tally.total() > 0, "{tally}");
        Ok(tally.total())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "load_module \"m.so\";\nhttp {\n  sluice_wasm \"f\";\n  sluice_filter \"{}\";\n  upstream sluice_pods \
        {\n    server \"unix:x\";\n    sluice_peer;\n    keepalive 320;\n  }\n  server {\n    sluice_filter off;\n    \
        return 503;\n  }\n}\n";

    #[test]
    fn an_nginx_by_itself_keeps_all_but_the_filter() {
        let pods = [SocketAddr::from(([10, 0, 0, 1], 80))];
        let expected = "http {\n  upstream sluice_pods {\n    server 10.0.0.1:80;\n    keepalive 320;\n  }\n  server {\n    \
            return 503;\n  }\n}";
        assert_eq!(without_filter(OURS, &pods).unwrap(), expected);
        let error = without_filter("http {}", &pods).unwrap_err().to_string();
        assert!(error.contains("load_module"), "{error}");
    }
}
