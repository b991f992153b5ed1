//! A new route among very many that change all the time. The clock starts before its Ingress is written, and ends with the first answer to its
//! host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::echo::Echo;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use tokio::time::interval;

use crate::Effort;
use crate::applications::application;
use crate::row::{Measured, Row};
use crate::scale::served;
use crate::statistics::quantile;

const STAYS: &str = "stays.test";
/// Changes of routes in a second.
const RATE: u32 = 100;
/// Between two new routes.
const REST: Duration = Duration::from_millis(50);

/// So many routes, of which [`RATE`] change in a second.
pub(crate) struct RouteChurn {
    pub(crate) data_plane: &'static str,
    pub(crate) routes: usize,
}

impl RouteChurn {
    pub(crate) fn rows(&self) -> Vec<Row> {
        let RouteChurn { data_plane, routes } = self;
        vec![
            Row::new(
                format!("{data_plane}_new_route_p99_ms/churn_{routes}"),
                "ms",
            )
            .target(30.0),
            Row::new(
                format!("{data_plane}_new_route_p50_ms/churn_{routes}"),
                "ms",
            ),
        ]
    }

    pub(crate) async fn run(&self, effort: Effort) -> Result<Vec<Measured>> {
        let network = Network::reserve()?;
        let _pods = Echo::start_all("web", &network.pods(2)).await?;
        let manifests = Arc::new(Manifests::new()?);
        for n in 0..self.routes {
            for object in application(n) {
                manifests.object(&object)?;
            }
        }
        // So that what a change gives nginx to know is known: the settings of a path that is not the root.
        manifests.object(&changed(0, self.routes)?)?;
        manifests.service("default", "web", 80, &network.pods(2))?;
        manifests.ingress(&to_web("stays", STAYS))?;
        let options = Options::new(&manifests).data_plane(self.data_plane);
        let sluice = options.workers(1).start().await?;
        sluice.wait_for_status(STAYS, "/", 200).await?;

        let stays = sluice_tests::http::Request::get(STAYS, "/");
        let load = Load::new(sluice.http(), stays)
            .connections(1)
            .pause(Duration::from_millis(1))
            .start();
        let over = Arc::new(AtomicBool::new(false));
        let churn = tokio::spawn(churn(
            self.routes,
            Arc::clone(&manifests),
            Arc::clone(&over),
        ));
        let begun = Instant::now();
        let mut millis = Vec::new();
        for n in 0..usize::from(effort.samples) {
            tokio::time::sleep(REST).await;
            let (name, host) = (format!("new-{n}"), format!("new-{n}.test"));
            let start = Instant::now();
            manifests.ingress(&to_web(&name, &host))?;
            served(sluice.http(), &host).await?;
            millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
        over.store(true, Ordering::Relaxed);
        let rate = churn.await.context("the churn")?? as f64 / begun.elapsed().as_secs_f64();
        let tally = load.stop().await?;
        ensure!(tally.failed() == 0, "{tally}");
        ensure!(
            rate > 0.9 * f64::from(RATE),
            "expected {RATE} changes a second, got {rate:.0}"
        );
        sluice.stop()?;
        let shares = [0.99, 0.5];
        let rows = self.rows().into_iter().zip(shares);
        Ok(rows
            .map(|(row, share)| row.measured(quantile(&millis, share), millis.len()))
            .collect())
    }
}

fn to_web(name: &str, host: &str) -> Ingress {
    Ingress::new("default", name)
        .host(host)
        .path("/", "web", 80)
}

/// Gives one application after the other another path; how many changes there were.
async fn churn(routes: usize, manifests: Arc<Manifests>, over: Arc<AtomicBool>) -> Result<u32> {
    let mut ticks = interval(Duration::from_secs(1) / RATE);
    let mut changes = 0;
    while !over.load(Ordering::Relaxed) {
        ticks.tick().await;
        manifests.object(&changed(changes, routes)?)?;
        changes += 1;
    }
    Ok(changes)
}

/// The Ingress of an application, with a path that it has not had.
fn changed(change: u32, routes: usize) -> Result<Value> {
    let [.., mut ingress] = application(usize::try_from(change)? % routes);
    ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = format!("/{change}").into();
    Ok(ingress)
}
