//! Very many hosts with a certificate each: how long a start takes, how much memory the data plane and the controller have, and how long it
//! takes until a host presents another certificate.

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
            renew(&manifests, &key, n)?;
            manifests.object(&presented(&name(n), &host(n), &name(n)))?;
        }
        let start = Instant::now();
        let options = Options::new(&manifests).workers(1).within(START);
        let sluice = options.start().await?;
        for n in [0, self.hosts / 2, self.hosts - 1] {
            presents(&sluice, n, None, START).await?;
        }
        let cold_start = start.elapsed().as_secs_f64();

        let mut millis = Vec::new();
        let changes = CHANGES.min(usize::from(effort.samples));
        for change in 0..changes {
            tokio::time::sleep(REST).await;
            // Everywhere among them.
            let n = change * self.hosts / changes;
            let start = Instant::now();
            let certificate = renew(&manifests, &key, n)?;
            presents(&sluice, n, Some(&certificate), LIMIT).await?;
            millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let envoy = sluice.data_plane_pid().context("no Envoy")?;
        let megabytes = |pid| Ok::<_, anyhow::Error>(proc::resident_memory(pid)? as f64 / 1e6);
        let values = [
            (cold_start, 1),
            (megabytes(envoy)?, 1),
            (megabytes(sluice.pid())?, 1),
            (quantile(&millis, 0.99), millis.len()),
            (quantile(&millis, 0.5), millis.len()),
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
