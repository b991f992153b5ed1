//! A fault of the filter costs one request.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::load::Load;
use sluice_tests::{artifacts, http, process};

use crate::fixture::{Fixture, ensure_even_spread, page};
use crate::gateway::Gateway;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filter_panic_under_load_fails_only_its_request() -> Result<()> {
    let filter = artifacts::compiled_filter_with_faults()?;
    let gateway = Gateway::with_filter(Fixture::start(2, 2).await?, filter).await?;
    let workers = gateway.nginx.workers();
    let load = Load::new(gateway.addr(), page()).connections(8).start();
    load.until("traffic", |tally| tally.total() > 50).await?;
    for _ in 0..20 {
        let hit = http::send(gateway.addr(), &page().header("x-test-panic", "1")).await?;
        ensure!(
            hit.status == 500,
            "expected the panic to show, got {}",
            hit.status
        );
    }
    let after = load.tally().total();
    load.until("traffic after the panics", |tally| {
        tally.total() > after + 50
    })
    .await?;
    let tally = load.stop().await?;
    ensure!(
        tally.failed() == 0,
        "{tally}; nginx's log ends\n{}",
        gateway.nginx.log().tail()
    );
    ensure!(
        gateway.nginx.workers() == workers,
        "the workers have changed"
    );
    ensure_even_spread(gateway.addr(), &[0, 1]).await?;
    gateway.stop()
}

#[tokio::test]
async fn runaway_filter_is_interrupted() -> Result<()> {
    let filter = artifacts::compiled_filter_with_faults()?;
    let gateway = Gateway::with_filter(Fixture::start(2, 2).await?, filter).await?;
    let hit = http::send(gateway.addr(), &page().header("x-test-loop", "1")).await?;
    ensure!(
        hit.status == 500,
        "expected the interruption to show, got {}",
        hit.status
    );
    gateway.nginx.log().wait_for("trapped").await?;
    ensure_even_spread(gateway.addr(), &[0, 1]).await?;
    gateway.stop()
}

#[tokio::test]
async fn killed_worker_is_replaced_and_serves() -> Result<()> {
    let mut gateway = Gateway::start(Fixture::start(2, 2).await?).await?;
    let workers = gateway.nginx.workers();
    for worker in &workers {
        process::kill(*worker);
    }
    gateway.nginx.replaced(&workers).await?;
    gateway.wait_for_status(200).await?;
    let load = Load::new(gateway.addr(), page()).max_requests(100);
    let tally = load.run_for(Duration::from_secs(20)).await?;
    ensure!(tally.failed() == 0, "{tally}");
    gateway.stop()
}
