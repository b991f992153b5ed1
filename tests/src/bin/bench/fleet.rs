//! One controller and a fleet of data planes: clients that behave as Envoys on the wire (`sluice_tests::fleet`), each with
//! everything that the controller serves.
//!
//! A change gives a Service an endpoint that no client has seen. Its clock starts before the EndpointSlice is written, and
//! ends when the last client has acknowledged the endpoints with it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::fleet::{Behaviour, Fleet, Kind, Progress};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::proc;
use sluice_tests::sluice::{Options, Sluice};

use crate::Effort;
use crate::applications::{PODS, application};
use crate::row::{Measured, Row};
use crate::statistics::quantile;

/// Of a step. A dev build takes long to read the manifests of 10,000 hosts.
const LIMIT: Duration = Duration::from_secs(600);
/// Between two changes; the second is not to meet the first on its way.
const REST: Duration = Duration::from_millis(100);
/// After this the controller has freed what it needed for what came before.
const SETTLED: Duration = Duration::from_secs(3);
/// Clients that memory is compared with.
const FEW: usize = 20;
/// Clients of each kind that misbehave, beside all that do not.
const BROKEN: usize = 5;

/// So many clients of so many hosts, each with a Service of ten endpoints.
pub(crate) struct FleetBench {
    pub(crate) clients: usize,
    pub(crate) hosts: usize,
}

impl FleetBench {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let clients = self.clients;
        let row = |name: &str, unit| Row::new(format!("fleet_{name}/{clients}"), unit);
        let with_dead = Row::new(format!("fleet_change_p99_ms/{clients}_with_dead"), "ms");
        let mut rows = vec![
            row("change_p99_ms", "ms").target(200.0),
            row("change_p50_ms", "ms"),
            row("change_cpu_us", "us"),
            with_dead.target(200.0),
            row("cold_start_s", "s").target(60.0),
            row("controller_rss_mb", "MB").target(600.0),
            row("controller_peak_mb", "MB").target(600.0),
            row("reconnect_s", "s").target(60.0),
            row("reconnect_mb", "MB").target(1.0),
        ];
        if self.measures_client_memory() {
            rows.push(row("client_mb", "MB").target(1.0));
        }
        rows
    }

    /// With fewer clients the memory of one is below the noise.
    fn measures_client_memory(&self) -> bool {
        self.clients >= 5 * FEW
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let site = Site::new(self.hosts)?;
        let samples = usize::from(effort.samples);
        let first = self.first_day(&site, samples).await?;
        let mut values = vec![
            (quantile(&first.changes, 0.99), samples),
            (quantile(&first.changes, 0.5), samples),
            (first.change_cpu_us, samples),
            (quantile(&first.with_broken, 0.99), samples),
            (first.cold_start_s, 1),
            (first.rss_mb, 1),
            (first.peak_mb, 1),
            (first.reconnect_s, 1),
            (first.reconnect_mb, 1),
        ];
        if self.measures_client_memory() {
            values.push((self.memory_of_a_client(&site).await?, 1));
        }
        let rows = self.rows().into_iter().zip(values);
        Ok(rows
            .map(|(row, (value, samples))| row.measured(value, samples))
            .collect())
    }

    /// A start of all, changes, changes beside clients that are broken, and a restart of the controller.
    async fn first_day(&self, site: &Site, samples: usize) -> Result<FirstDay> {
        let mut fleet = Fleet::new(&site.xds());
        fleet.join(self.clients);
        let start = Instant::now();
        let controller = site.options().start().await?;
        fleet
            .wait(LIMIT, "to have everything", |it| self.has_all(it))
            .await?;
        let cold_start_s = start.elapsed().as_secs_f64();
        tokio::time::sleep(SETTLED).await;

        let mut number = 0;
        let cpu = proc::cpu_time(controller.pid())?;
        let changes = changes(site, &fleet, &mut number, samples).await?;
        let cpu = proc::cpu_time(controller.pid())? - cpu;
        let rss_mb = megabytes(proc::resident_memory(controller.pid())?);

        fleet.join(2 * BROKEN);
        fleet
            .wait(LIMIT, "to have everything", |it| self.has_all(it))
            .await?;
        fleet.break_down(BROKEN, Behaviour::Stopped);
        fleet.break_down(BROKEN, Behaviour::Mute);
        let with_broken = self::changes(site, &fleet, &mut number, samples).await?;
        let peak_mb = megabytes(proc::peak_memory(controller.pid())?);

        let (reconnect_s, reconnect_mb) = restart(site, controller, &fleet, &mut number).await?;
        Ok(FirstDay {
            changes,
            with_broken,
            cold_start_s,
            rss_mb,
            peak_mb,
            change_cpu_us: cpu.as_secs_f64() * 1e6 / (samples * self.clients) as f64,
            reconnect_s,
            reconnect_mb,
        })
    }

    /// The memory of a controller with all clients beyond that with few, for each client more.
    async fn memory_of_a_client(&self, site: &Site) -> Result<f64> {
        let controller = site.options().start().await?;
        let mut fleet = Fleet::new(&site.xds());
        let mut rss = Vec::new();
        for more in [FEW, self.clients - FEW] {
            fleet.join(more);
            fleet
                .wait(LIMIT, "to have everything", |it| self.has_all(it))
                .await?;
            tokio::time::sleep(SETTLED).await;
            rss.push(megabytes(proc::resident_memory(controller.pid())?));
        }
        Ok((rss[1] - rss[0]) / (self.clients - FEW) as f64)
    }

    fn has_all(&self, progress: &Progress) -> bool {
        let hosts = [Kind::Endpoints, Kind::Scope]
            .into_iter()
            .all(|kind| progress.of(kind) >= self.hosts);
        hosts && progress.of(Kind::Listener) > 0 && progress.missing == 0
    }
}

struct FirstDay {
    /// In milliseconds.
    changes: Vec<f64>,
    with_broken: Vec<f64>,
    change_cpu_us: f64,
    cold_start_s: f64,
    rss_mb: f64,
    peak_mb: f64,
    reconnect_s: f64,
    reconnect_mb: f64,
}

/// Manifests of a controller, and a folder for its socket.
struct Site {
    manifests: Manifests,
    folder: tempfile::TempDir,
}

impl Site {
    fn new(hosts: usize) -> Result<Site> {
        let manifests = Manifests::new()?;
        for n in 0..hosts - 1 {
            let documents = application(n).map(|object| Value::to_string(&object));
            manifests.write(&format!("app-{n}.yaml"), &documents.join("\n---\n"))?;
        }
        let site = Site {
            manifests,
            folder: tempfile::tempdir()?,
        };
        let ingress = Ingress::new("default", "web").host("web.test");
        site.manifests.ingress(&ingress.path("/", "web", 80))?;
        site.manifests.service("default", "web", 80, &pods(0))?;
        Ok(site)
    }

    fn xds(&self) -> String {
        format!("unix:{}", self.folder.path().join("xds.sock").display())
    }

    fn options(&self) -> Options {
        Options::new(&self.manifests)
            .without_data_plane()
            .xds(self.xds())
            .arguments(vec!["--scopes-from".to_owned(), "0".to_owned()])
            .within(LIMIT)
    }

    /// The next change; clients expect it.
    fn change(&self, fleet: &Fleet, number: &mut usize) -> Result<()> {
        *number += 1;
        let pods = pods(*number);
        fleet.expect(&pods[0].ip().to_string());
        self.manifests.endpoints("default", "web", &pods)
    }
}

/// Those after so many changes: one of them is new each time. All numbers are of three digits, so no address begins another.
fn pods(number: usize) -> Vec<std::net::SocketAddr> {
    let address = |place: usize| {
        let (high, low) = ((number + place) / 100, (number + place) % 100);
        let octet = |number: usize| u8::try_from(number + 100).unwrap_or(u8::MAX);
        ([10, 250, octet(high), octet(low)], 8080).into()
    };
    (0..usize::from(PODS)).rev().map(address).collect()
}

/// How long each change took to be acknowledged by all, in milliseconds.
async fn changes(
    site: &Site,
    fleet: &Fleet,
    number: &mut usize,
    samples: usize,
) -> Result<Vec<f64>> {
    let mut millis = Vec::new();
    for _ in 0..samples {
        tokio::time::sleep(REST).await;
        let start = Instant::now();
        site.change(fleet, number)?;
        let last = fleet.acknowledged(LIMIT).await?;
        millis.push((last - start).as_secs_f64() * 1e3);
    }
    Ok(millis)
}

/// A change while the controller is away: from its return until the last client has acknowledged it, in seconds, and what all
/// clients were sent, in megabytes.
async fn restart(
    site: &Site,
    mut controller: Sluice,
    fleet: &Fleet,
    number: &mut usize,
) -> Result<(f64, f64)> {
    let (bytes, resources) = fleet.received();
    controller.kill()?;
    site.change(fleet, number)?;
    let start = Instant::now();
    let successor = site.options().after(&controller).start().await?;
    let seconds = (fleet.acknowledged(LIMIT).await? - start).as_secs_f64();
    tokio::time::sleep(SETTLED).await;
    let (bytes_now, resources_now) = fleet.received();
    ensure!(resources_now > resources, "the clients have not come back");
    drop(successor);
    Ok((seconds, megabytes(bytes_now - bytes)))
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_change_has_a_first_pod_that_no_change_before_had() {
        let mut seen: BTreeSet<String> = pods(0).iter().map(|pod| pod.ip().to_string()).collect();
        for number in 1..10_000 {
            let pods = pods(number);
            assert_eq!(pods.len(), usize::from(PODS));
            let new = pods[0].ip().to_string();
            assert!(seen.insert(new.clone()), "{number}: {new}");
            assert_eq!(new.len(), "10.250.100.100".len());
        }
    }
}
