//! A data plane that dies is started again, and has all of its configuration before it listens: whoever reaches it is served
//! as before, or not at all.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::certificate::{Pair, presented};
use sluice_tests::connection::Connection;
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::Manifests;
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::{process, wait};
use tokio::net::TcpStream;

use crate::setup::{Plane, on_every_plane};

on_every_plane!(restarted_data_plane_has_its_whole_configuration);

const HOSTS: usize = 40;
const KILLS: usize = 3;

/// Hosts of all kinds, each with a certificate and a Service of its own.
struct Fixture {
    manifests: Manifests,
    certificates: Vec<Pair>,
    _pods: Vec<Echo>,
    _network: Network,
}

fn host(n: usize) -> String {
    format!("h{n}.test")
}

fn request(n: usize) -> Request {
    Request::get(&host(n), "/a")
}

impl Fixture {
    async fn start() -> Result<Fixture> {
        let (manifests, network) = (Manifests::new()?, Network::reserve()?);
        let pods = Echo::start_all("web", &network.pods(3)).await?;
        let mut certificates = Vec::new();
        for n in 0..HOSTS {
            let name = format!("h{n}");
            certificates.push(Pair::renew(&manifests, &name, &[&host(n)])?);
            manifests.service("default", &name, 80, &[pods[n % pods.len()].addr()])?;
            let mut ingress = presented(&name, &host(n), &name);
            let annotations = &mut ingress["metadata"]["annotations"];
            let mut annotate = |name: &str, value: &str| {
                annotations[format!("nginx.ingress.kubernetes.io/{name}")] = value.into();
            };
            annotate("ssl-redirect", "false");
            match n % 4 {
                1 => annotate("use-regex", "true"),
                2 => annotate("affinity", "cookie"),
                3 => annotate("whitelist-source-range", "127.0.0.0/8"),
                _ => {}
            }
            let path = &mut ingress["spec"]["rules"][0]["http"]["paths"][0];
            path["backend"]["service"]["name"] = name.into();
            if n % 4 == 1 {
                path["path"] = "/(a|b)".into();
                path["pathType"] = "ImplementationSpecific".into();
            }
            manifests.object(&ingress)?;
        }
        Ok(Fixture {
            manifests,
            certificates,
            _pods: pods,
            _network: network,
        })
    }

    /// The first who gets a connection is served by every host, and sees its certificate.
    async fn serves_every_host(&self, https: SocketAddr) -> Result<()> {
        wait::until("the first connection", async || {
            TcpStream::connect(https).await.ok()
        })
        .await?;
        for (n, certificate) in self.certificates.iter().enumerate() {
            let mut connection = Connection::open_tls(https, &host(n))
                .await
                .with_context(|| host(n))?;
            let own = connection.certificate() == Some(certificate.der.as_slice());
            ensure!(own, "{} presents another's certificate", host(n));
            let answer = connection.send(&request(n)).await?;
            ensure!(answer.status == 200, "{}: {answer:?}", host(n));
        }
        Ok(())
    }
}

async fn kill_data_plane(sluice: &Sluice) -> Result<()> {
    let before = sluice.data_plane_pid().context("no data plane")?;
    process::kill(before);
    let after = async || sluice.data_plane_pid().filter(|pid| *pid != before);
    wait::until("another data plane", after).await.map(drop)
}

async fn restarted_data_plane_has_its_whole_configuration(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let sluice = plane.options(&fixture.manifests).start().await?;
    for n in 0..HOSTS {
        sluice.wait_for_status(&host(n), "/a", 200).await?;
    }
    let requests = (0..HOSTS).map(request).collect();
    let load = Load::of(sluice.http(), requests)
        .connections(8)
        .pause(Duration::from_millis(1))
        .start();
    for kill in 0..KILLS {
        kill_data_plane(&sluice).await?;
        fixture
            .serves_every_host(sluice.https())
            .await
            .with_context(|| format!("death {kill}"))?;
        let served =
            |tally: &sluice_tests::tally::Tally| tally.by_status.get(&200).copied().unwrap_or(0);
        let before = served(&load.tally());
        load.until("more answers", |tally| served(tally) > before + 200)
            .await?;
    }
    // Connections that break, or that nobody takes, are what a death is; any other answer would be a wrong one.
    let tally = load.stop().await?;
    ensure!(tally.by_status.keys().eq([&200]), "{tally}");
    sluice.stop()
}
