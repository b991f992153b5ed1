//! How long nobody is served when a data plane dies: from its end to the next answer.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use sluice_tests::{http, process, wait};

use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::median;

/// A data plane by its name, with so many hosts.
pub(crate) struct Comeback {
    pub(crate) data_plane: &'static str,
    pub(crate) hosts: usize,
}

/// One that has lived for so long is started again at once.
const LIFE: Duration = Duration::from_secs(31);

impl Comeback {
    pub(crate) fn rows(&self) -> [Row; 1] {
        [Row::new(
            format!("comeback_ms/{}_{}", self.data_plane, self.hosts),
            "ms",
        )
        .target(1000.0)]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let (network, manifests) = (Network::reserve()?, Manifests::new()?);
        let _pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
        manifests.service("default", "web", 80, &[network.pod(0)])?;
        for n in 0..self.hosts {
            let ingress = Ingress::new("default", &format!("h{n}")).host(&format!("h{n}.test"));
            manifests.ingress(&ingress.path("/", "web", 80))?;
        }
        let sluice = Options::new(&manifests)
            .data_plane(self.data_plane)
            .start()
            .await?;
        let host = format!("h{}.test", self.hosts - 1);
        sluice.wait_for_status(&host, "/", 200).await?;
        let mut times = Vec::new();
        for _ in 0..effort.rounds {
            tokio::time::sleep(LIFE).await;
            let before = sluice.data_plane_pid().context("no data plane")?;
            process::kill(before);
            let killed = Instant::now();
            let after = async || sluice.data_plane_pid().filter(|pid| *pid != before);
            wait::until("another data plane", after).await?;
            let answers = async || {
                http::get(sluice.http(), &host, "/")
                    .await
                    .ok()
                    .filter(|page| page.status == 200)
            };
            wait::until("the next answer", answers).await?;
            times.push(killed.elapsed().as_secs_f64() * 1e3);
        }
        let [row] = self.rows();
        Ok(vec![row.measured(median(&times), times.len())])
    }
}
