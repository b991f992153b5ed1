//! Very many Ingresses that are stored at once: how long until all of their hosts are served. The clock starts before the first of them is
//! written.

use std::time::Instant;

use anyhow::Result;
use sluice_tests::echo::Echo;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;

use crate::row::{Measured, Row};
use crate::scale::served;

/// So many Ingresses, each with a host of its own.
pub(crate) struct AtOnce {
    pub(crate) data_plane: &'static str,
    pub(crate) ingresses: usize,
}

fn host(n: usize) -> String {
    format!("at-once-{n}.test")
}

impl AtOnce {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let AtOnce {
            data_plane,
            ingresses,
        } = self;
        let name = format!("{data_plane}_ingresses_at_once_s/{ingresses}");
        vec![Row::new(name, "s").target(2.0)]
    }

    pub(crate) async fn run(&self) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let _pods = Echo::start_all("web", &network.pods(2)).await?;
        let manifests = Manifests::new()?;
        manifests.service("default", "web", 80, &network.pods(2))?;
        let stays = Ingress::new("default", "stays").host("stays.test");
        manifests.ingress(&stays.path("/", "web", 80))?;
        let options = Options::new(&manifests).data_plane(self.data_plane);
        let sluice = options.workers(1).start().await?;
        sluice.wait_for_status("stays.test", "/", 200).await?;

        let start = Instant::now();
        for n in 0..self.ingresses {
            let ingress = Ingress::new("default", &format!("at-once-{n}")).host(&host(n));
            manifests.ingress(&ingress.path("/", "web", 80))?;
        }
        for n in 0..self.ingresses {
            served(sluice.http(), &host(n)).await?;
        }
        let seconds = start.elapsed().as_secs_f64();
        sluice.stop()?;
        let rows = self.rows().into_iter();
        Ok(rows.map(|row| row.measured(seconds, 1)).collect())
    }
}
