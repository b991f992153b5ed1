//! From new pods to the first answer of one of them, each proxy told in its own way.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sluice_tests::http;

use super::contender::{self, Contender};
use super::proxy::Running;
use super::site::{HOST, Site};
use super::{PREFIX, Protocol};
use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::median;

const LIMIT: Duration = Duration::from_secs(20);

/// All pods of a Service are replaced.
pub(crate) struct PeersChange;

impl PeersChange {
    pub(crate) fn rows(&self) -> Vec<Row> {
        Contender::ALL.into_iter().map(row).collect()
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let site = Site::start().await?;
        let mut rows = Vec::new();
        for contender in contender::present()? {
            let mut running = contender.start(&site, Protocol::Http1).await?;
            let mut samples = Vec::new();
            for round in 0..effort.rounds {
                let took = change(&mut running, &site, round % 2 == 0).await;
                let log = running.proxy.log().tail();
                let told = || format!("{}; its log ends\n{log}", contender.name());
                samples.push(took.with_context(told)?);
                // Old workers of a reload go.
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            rows.push(row(contender).measured(median(&samples), samples.len()));
        }
        Ok(rows)
    }
}

fn row(contender: Contender) -> Row {
    Row::new(format!("{PREFIX}change_ms/{}", contender.name()), "ms")
}

/// Milliseconds until a new pod has answered.
async fn change(running: &mut Running, site: &Site, second: bool) -> Result<f64> {
    let (pods, names) = site.set(second);
    let start = Instant::now();
    running.proxy.change(pods).await?;
    loop {
        let response = http::get(running.http, HOST, "/").await?;
        if response.pod().is_some_and(|pod| pod.starts_with(names)) {
            return Ok(start.elapsed().as_secs_f64() * 1e3);
        }
        ensure!(start.elapsed() < LIMIT, "no new pod has answered");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
