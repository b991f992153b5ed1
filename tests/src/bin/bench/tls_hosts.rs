//! Very many hosts with a certificate each: how long a start takes, how much memory the data plane and the controller have, and how long it
//! takes until a host presents another certificate, and until a new host is served.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rcgen::{CertificateParams, KeyPair};
use sluice_tests::certificate::{presented, store};
use sluice_tests::connection::Connection;
use sluice_tests::echo::Echo;
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::Network;
use sluice_tests::proc;
use sluice_tests::sluice::{Options, Sluice};

use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::quantile;

/// Longest start.
const START: Duration = Duration::from_secs(300);
const LIMIT: Duration = Duration::from_secs(30);
const REST: Duration = Duration::from_millis(100);
/// Certificates are changed so often.
const CHANGES: usize = 50;
/// So many hosts come, one after the other.
const NEW: usize = 30;

/// So many hosts.
pub(crate) struct TlsHosts {
    pub(crate) hosts: usize,
}

impl TlsHosts {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let hosts = self.hosts;
        vec![
            Row::new(format!("tls_cold_start_s/{hosts}"), "s"),
            Row::new(format!("tls_envoy_rss_mb/{hosts}"), "MB"),
            Row::new(format!("tls_controller_rss_mb/{hosts}"), "MB"),
            Row::new(format!("tls_certificate_change_p99_ms/{hosts}"), "ms"),
            Row::new(format!("tls_certificate_change_p50_ms/{hosts}"), "ms"),
            Row::new(format!("tls_new_host_p99_ms/{hosts}"), "ms"),
            Row::new(format!("tls_new_host_p50_ms/{hosts}"), "ms"),
        ]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let _pods = Echo::start_all("web", &network.pods(2)).await?;
        let manifests = Manifests::new()?;
        manifests.service("default", "web", 80, &network.pods(2))?;
        // Of all, as making a key takes longer than signing with it.
        let key = KeyPair::generate()?;
        for n in 0..self.hosts {
            add(&manifests, &key, n)?;
        }
        let start = Instant::now();
        let options = Options::new(&manifests).workers(1).within(START);
        let sluice = options.start().await?;
        for n in [0, self.hosts / 2, self.hosts - 1] {
            presents(&sluice, n, None, START).await?;
        }
        let cold_start = start.elapsed().as_secs_f64();

        let samples = usize::from(effort.samples);
        let changes = CHANGES.min(samples);
        // Everywhere among them.
        let hosts = (0..changes).map(|change| change * self.hosts / changes);
        let changes = latencies(&sluice, hosts, |n| renew(&manifests, &key, n)).await?;
        let hosts = self.hosts..self.hosts + NEW.min(samples);
        let new = latencies(&sluice, hosts, |n| add(&manifests, &key, n)).await?;
        let envoy = sluice.data_plane_pid().context("no Envoy")?;
        let megabytes = |pid| Ok::<_, anyhow::Error>(proc::resident_memory(pid)? as f64 / 1e6);
        let values = [
            (cold_start, 1),
            (megabytes(envoy)?, 1),
            (megabytes(sluice.pid())?, 1),
            (quantile(&changes, 0.99), changes.len()),
            (quantile(&changes, 0.5), changes.len()),
            (quantile(&new, 0.99), new.len()),
            (quantile(&new, 0.5), new.len()),
        ];
        sluice.stop()?;
        let rows = self.rows().into_iter().zip(values);
        Ok(rows
            .map(|(row, (value, samples))| row.measured(value, samples))
            .collect())
    }
}

fn name(n: usize) -> String {
    format!("tls-{n}")
}

fn host(n: usize) -> String {
    format!("tls-{n}.test")
}

/// Milliseconds from each change, which gives the certificate that its host has then, until the host is served with that.
async fn latencies(
    sluice: &Sluice,
    hosts: impl Iterator<Item = usize>,
    change: impl Fn(usize) -> Result<Vec<u8>>,
) -> Result<Vec<f64>> {
    let mut millis = Vec::new();
    for n in hosts {
        tokio::time::sleep(REST).await;
        let start = Instant::now();
        let certificate = change(n)?;
        presents(sluice, n, Some(&certificate), LIMIT).await?;
        millis.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(millis)
}

/// Stores a host with its certificate.
fn add(manifests: &Manifests, key: &KeyPair, n: usize) -> Result<Vec<u8>> {
    let certificate = renew(manifests, key, n)?;
    manifests.object(&presented(&name(n), &host(n), &name(n)))?;
    Ok(certificate)
}

/// Stores a new certificate of a host, and returns it as clients see it.
fn renew(manifests: &Manifests, key: &KeyPair, n: usize) -> Result<Vec<u8>> {
    let certificate = CertificateParams::new(vec![host(n)])?.self_signed(key)?;
    let key = key.serialize_pem();
    store(manifests, &name(n), &certificate.pem(), &key)?;
    Ok(certificate.der().to_vec())
}

/// Waits until a host presents this certificate, or answers at all.
async fn presents(
    sluice: &Sluice,
    n: usize,
    expected: Option<&[u8]>,
    limit: Duration,
) -> Result<()> {
    let (start, host) = (Instant::now(), host(n));
    let request = sluice_tests::http::Request::get(&host, "/");
    while start.elapsed() < limit {
        if let Ok(mut connection) = Connection::open_tls(sluice.https(), &host).await {
            let is_it = expected.is_none_or(|expected| connection.certificate() == Some(expected));
            if is_it && connection.send(&request).await?.status == 200 {
                return Ok(());
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    bail!("waited {} s for the certificate of {host}", limit.as_secs())
}
