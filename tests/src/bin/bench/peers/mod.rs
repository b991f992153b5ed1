//! Proxies side by side: the same pods, the same load, one worker each, connections that stay.
//!
//! ```text
//!   site ---pods, certificate--> contender: Sluice in its four forms, or another proxy in its smallest configuration
//!                                    ^
//!   load --closed: CPU per request---+
//!        \-open: a fixed rate, latencies from when a request was due
//! ```

mod caddy;
mod change;
mod client;
mod contender;
mod envoy;
mod haproxy;
mod idle;
mod load;
mod nginx;
mod packages;
mod pages;
mod plan;
mod protocol;
mod proxy;
mod site;
mod sluice;

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use self::contender::Contender;
use self::load::Load;
use self::proxy::Running;
use self::site::Site;
use crate::Effort;
use crate::row::{Measured, Row};
use crate::statistics::median;

pub(crate) use change::PeersChange;
pub(crate) use idle::PeersIdle;
pub(crate) use pages::tables;
pub(crate) use protocol::Protocol;

/// Begins the names of these rows, which have tables of their own.
pub(crate) const PREFIX: &str = "peers_";
/// Requests at once while the CPU time is taken.
const CLIENTS: usize = 16;
/// Requests a second while latencies are taken, and how many may be under way.
const RATE: u32 = 2000;
const OPEN_CLIENTS: usize = 64;
/// So much longer than a round: a quantile of 0.999 wants thousands of requests.
const OPEN_ROUNDS: u32 = 3;

/// Requests of one protocol through each of them.
pub(crate) struct Peers(pub(crate) Protocol);

impl Peers {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let rows = |contender: Contender| self.rows_of(contender);
        Contender::ALL.into_iter().flat_map(rows).collect()
    }

    fn rows_of(&self, contender: Contender) -> [Row; 4] {
        let (protocol, contender) = (self.0.name(), contender.name());
        let row = |of: &str, unit| Row::new(format!("{PREFIX}{of}/{protocol}/{contender}"), unit);
        [
            row("cpu_us", "us"),
            row("p50_ms", "ms"),
            row("p99_ms", "ms"),
            row("p999_ms", "ms"),
        ]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let site = Site::start().await?;
        let mut all = Vec::new();
        for contender in contender::present()? {
            let running = contender.start(&site, self.0).await;
            let running = running.with_context(|| contender.name())?;
            all.push((contender, running, Vec::new()));
        }
        for (contender, running, _) in &all {
            let warm_up = self.closed(running, Duration::from_millis(500)).await;
            warm_up.with_context(|| contender.name())?;
        }
        for _ in 0..effort.rounds {
            for (contender, running, samples) in &mut all {
                let time = Duration::from_secs(effort.seconds.into());
                let used = self.closed(running, time).await;
                samples.push(used.with_context(|| contender.name())?);
            }
        }
        let mut rows = Vec::new();
        for (contender, running, samples) in &all {
            let time = Duration::from_secs((effort.seconds * OPEN_ROUNDS).into());
            let mut load = Load::open(self.0, running, OPEN_CLIENTS).await?;
            let latencies = load.at_rate(RATE, time).await;
            let latencies = latencies.with_context(|| contender.name())?;
            let ms = |share| latencies.quantile(share).as_secs_f64() * 1e3;
            let count = usize::try_from(RATE * effort.seconds * OPEN_ROUNDS)?;
            let [cpu, p50, p99, p999] = self.rows_of(*contender);
            rows.extend([
                cpu.measured(median(samples), samples.len()),
                p50.measured(ms(0.5), count),
                p99.measured(ms(0.99), count),
                p999.measured(ms(0.999), count),
            ]);
        }
        Ok(rows)
    }

    /// CPU microseconds per request.
    async fn closed(&self, running: &Running, time: Duration) -> Result<f64> {
        let mut load = Load::open(self.0, running, CLIENTS).await?;
        let before = running.cpu_time()?;
        let count = load.as_fast_as_it_goes(time).await?;
        let used = running.cpu_time()? - before;
        ensure!(count > 0, "no request was answered");
        Ok(used.as_secs_f64() * 1e6 / count as f64)
    }
}
