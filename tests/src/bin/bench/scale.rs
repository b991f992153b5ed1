//! A folder, or a cluster, with very many Ingresses: how long a change of one takes to be served, and how much memory
//! the controller has.
//!
//! A change gives one Ingress another host. The clock starts before it is written, and ends with the first answer to the
//! new host that is not 404, asked for every millisecond. Meanwhile a host that stays is asked for, too, and must never
//! fail. The cluster is the fake API server; nothing may be listed again because of a change.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::connection::Connection;
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{CLASS, Ingress, Manifests, endpoint_slice, service};
use sluice_tests::ports::Network;
use sluice_tests::proc;
use sluice_tests::sluice::{Options, Sluice};

use crate::Effort;
use crate::applications::application;
use crate::nginx_cpu::workers;
use crate::row::{Measured, Row};
use crate::statistics::quantile;

const STAYS: &str = "stays.test";
const LIMIT: Duration = Duration::from_secs(30);
/// Longest start with all hosts.
const START: Duration = Duration::from_secs(300);
const PERIOD: Duration = Duration::from_millis(1);
/// Between two changes; the second is not to meet the first on its way.
const REST: Duration = Duration::from_millis(100);

/// So many Ingresses, each with a Service and ten endpoints.
pub(crate) struct Scale {
    pub(crate) source: SourceKind,
    pub(crate) ingresses: usize,
    /// With nginx in place of Envoy.
    pub(crate) nginx: bool,
}

/// Ingresses that are stored at once, at the end, to see whether nginx reloads for them.
const MORE: usize = 1000;

#[derive(Clone, Copy)]
pub(crate) enum SourceKind {
    Folder,
    Cluster,
}

/// The source of the Ingresses.
enum Source {
    Folder(Manifests),
    Cluster(Box<Cluster>),
}

impl Source {
    async fn new(kind: SourceKind) -> Result<Source> {
        Ok(match kind {
            SourceKind::Folder => Source::Folder(Manifests::new()?),
            SourceKind::Cluster => {
                let cluster = Cluster::fake().await?;
                cluster.ingress_class(CLASS).await?;
                Source::Cluster(Box::new(cluster))
            }
        })
    }

    /// Writes objects that belong together.
    fn write(&self, name: &str, objects: &[Value]) -> Result<()> {
        match self {
            Source::Folder(manifests) => {
                let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
                manifests.write(&format!("{name}.yaml"), &documents.join("\n---\n"))
            }
            Source::Cluster(cluster) => {
                let fake = cluster
                    .as_fake()
                    .context("the bench runs against the fake")?;
                for object in objects {
                    let name = &object["metadata"]["namespace"];
                    fake.put(
                        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
                    )?;
                    fake.put(object.clone())?;
                }
                Ok(())
            }
        }
    }

    fn options(&self) -> Options {
        match self {
            Source::Folder(manifests) => Options::new(manifests),
            Source::Cluster(cluster) => Options::in_cluster(cluster),
        }
    }

    /// How often everything was read.
    fn lists(&self) -> usize {
        match self {
            Source::Folder(_) => 0,
            Source::Cluster(cluster) => cluster.gate().lists("/ingresses"),
        }
    }
}

impl Scale {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let (ingresses, more) = (self.ingresses, self.ingresses + MORE);
        let (prefix, p99_ms) = match (self.nginx, self.source) {
            (true, _) => ("nginx_", 30.0),
            (false, SourceKind::Folder) => ("", 50.0),
            (false, SourceKind::Cluster) => ("cluster_", 50.0),
        };
        let mut rows = vec![
            Row::new(format!("{prefix}ingress_change_p99_ms/{ingresses}"), "ms").target(p99_ms),
            Row::new(format!("{prefix}ingress_change_p50_ms/{ingresses}"), "ms"),
            Row::new(format!("{prefix}controller_rss_mb/{ingresses}"), "MB").target(150.0),
        ];
        if self.nginx {
            rows.extend([
                Row::new(format!("nginx_cold_start_ms/{ingresses}"), "ms"),
                Row::new(format!("nginx_worker_rss_mb/{ingresses}"), "MB"),
                Row::new(format!("nginx_worker_rss_ratio/{more}"), "ratio").target(0.5),
                Row::new(format!("nginx_worker_rss_mb/{more}_without_table"), "MB"),
                Row::new(
                    format!("nginx_reloads/{MORE}_ingresses_of_known_profiles"),
                    "reloads",
                )
                .target(0.0),
            ]);
        }
        rows
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let _pods = Echo::start_all("web", &network.pods(2)).await?;
        let source = Source::new(self.source).await?;
        for n in 0..self.ingresses - 1 {
            source.write(&format!("app-{n}"), &application(n))?;
        }
        let pods = network.pods(2);
        let web = [
            service("default", "web", 80, &pods),
            endpoint_slice("default", "web", &pods),
        ];
        source.write("service-web", &web)?;
        source.write("ingress-web", &[with_host(0).to_json()])?;
        let options = source.options();
        let options = match self.nginx {
            true => options.data_plane("nginx").workers(1),
            false => options,
        };
        let start = Instant::now();
        let sluice = options.start().await?;
        sluice.wait_for_status(STAYS, "/", 200).await?;
        let cold_start = start.elapsed().as_secs_f64() * 1e3;
        let lists = source.lists();

        let load = Load::new(sluice.http(), Request::get(STAYS, "/"))
            .connections(1)
            .pause(PERIOD)
            .start();
        let mut millis = Vec::new();
        for n in 1..=usize::from(effort.samples) {
            tokio::time::sleep(REST).await;
            let start = Instant::now();
            source.write("ingress-web", &[with_host(n).to_json()])?;
            served(sluice.http(), &host(n)).await?;
            millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let tally = load.stop().await?;
        ensure!(tally.failed() == 0, "{tally}");
        ensure!(source.lists() == lists, "everything was listed again");
        let megabytes = proc::resident_memory(sluice.pid())? as f64 / 1e6;
        let mut values = vec![
            (quantile(&millis, 0.99), millis.len()),
            (quantile(&millis, 0.5), millis.len()),
            (megabytes, 1),
        ];
        if self.nginx {
            let of_nginx = of_nginx(sluice, &source).await?;
            values.push((cold_start, 1));
            values.extend(of_nginx.map(|value| (value, 1)));
        }
        let rows = self.rows().into_iter().zip(values);
        Ok(rows
            .map(|(row, (value, samples))| row.measured(value, samples))
            .collect())
    }
}

/// Memory of its worker; how much it is of that of a worker without a table, and that one, with more hosts; reloads for those.
async fn of_nginx(sluice: Sluice, source: &Source) -> Result<[f64; 4]> {
    let worker = worker_memory(&sluice)?;
    let reloads = reloads_for_more(&sluice, source).await?;
    let with_table = worker_memory(&sluice)?;
    sluice.stop()?;
    let without_table = memory_without_table(source).await?;
    Ok([worker, with_table / without_table, without_table, reloads])
}

/// Megabytes of the worker of its nginx.
fn worker_memory(sluice: &Sluice) -> Result<f64> {
    let worker = *workers(sluice)?.first().context("a worker")?;
    Ok(proc::resident_memory(worker)? as f64 / 1e6)
}

/// Reloads of its nginx, after more Ingresses with the same settings were stored at once.
async fn reloads_for_more(sluice: &Sluice, source: &Source) -> Result<f64> {
    let host = |n: usize| format!("more-{n}.test");
    let name = |n: usize| format!("more-{n}");
    for n in 0..MORE {
        let ingress = Ingress::new("default", &name(n)).host(&host(n));
        source.write(&name(n), &[ingress.path("/", "web", 80).to_json()])?;
    }
    for n in 0..MORE {
        sluice.wait_for_status(&host(n), "/", 200).await?;
    }
    let lines = sluice.log().lines();
    let reloads = lines.iter().filter(|line| line.contains("reloading nginx"));
    Ok(reloads.count() as f64)
}

/// Megabytes of a worker that has all hosts in its nginx.conf.
async fn memory_without_table(source: &Source) -> Result<f64> {
    let options = source.options().data_plane("nginx").workers(1);
    let no_table = vec!["--nginx-host-table=off".to_owned()];
    let sluice = options.arguments(no_table).within(START).start().await?;
    sluice.wait_for_status(STAYS, "/", 200).await?;
    let megabytes = worker_memory(&sluice)?;
    sluice.stop()?;
    Ok(megabytes)
}

fn host(n: usize) -> String {
    format!("changes-{n}.test")
}

fn with_host(n: usize) -> Ingress {
    Ingress::new("default", "web")
        .host(STAYS)
        .path("/", "web", 80)
        .host(&host(n))
        .path("/", "web", 80)
}

/// Waits until the host is served.
pub(crate) async fn served(addr: SocketAddr, host: &str) -> Result<()> {
    let (start, request) = (Instant::now(), Request::get(host, "/"));
    let mut connection = Connection::open(addr).await?;
    while start.elapsed() < LIMIT {
        // The thousandth answer is the last on its connection (`keep-alive-requests`).
        if !connection.is_reusable() {
            connection = Connection::open(addr).await?;
        }
        match connection
            .send(&request)
            .await
            .context(host.to_owned())?
            .status
        {
            200 => return Ok(()),
            404 => tokio::time::sleep(PERIOD).await,
            status => bail!("{host}: expected 404 and then 200, got {status}"),
        }
    }
    bail!("waited {} s for {host}", LIMIT.as_secs())
}
