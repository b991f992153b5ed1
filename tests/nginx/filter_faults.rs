//! A fault of the filter costs one request.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::load::Load;
use sluice_tests::{artifacts, http, process};

use crate::fixture::{Fixture, ensure_even_spread, page};
use crate::gateway::{Form, Gateway, TWO_WORKERS, in_both_forms};

in_both_forms! {
    filter_panic_under_load_fails_only_its_request
}

/// A site whose filter fails when a request asks for it.
async fn faulty(form: Form) -> Result<Gateway> {
    let fixture = Fixture::start(2, 2).await?;
    match form {
        Form::BuiltIn => {
            let main = format!("{TWO_WORKERS}\nenv {}=1;", artifacts::FAULTS);
            Gateway::with(fixture, &artifacts::debug_nginx_module()?, &main, "").await
        }
        Form::Wasm => {
            let filter = artifacts::compiled_filter_with_faults()?;
            let directive = format!("sluice_wasm {};", filter.display());
            let module = artifacts::nginx_module()?;
            Gateway::with(fixture, &module, TWO_WORKERS, &directive).await
        }
    }
}

async fn filter_panic_under_load_fails_only_its_request(form: Form) -> Result<()> {
    let gateway = faulty(form).await?;
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
    let gateway = faulty(Form::Wasm).await?;
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
    let mut gateway = Gateway::start(Form::BuiltIn, Fixture::start(2, 2).await?).await?;
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
