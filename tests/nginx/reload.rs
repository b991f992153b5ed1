//! A reload makes new workers, whose filters start without tables.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::load::Load;

use crate::fixture::{Fixture, page};
use crate::gateway::{Form, Gateway, in_both_forms};

in_both_forms! {
    reloads_under_load_fail_no_request
    exiting_worker_does_not_wait_for_its_poll
}

async fn reloads_under_load_fail_no_request(form: Form) -> Result<()> {
    let mut gateway = Gateway::start(form, Fixture::start(2, 2).await?).await?;
    // A connection for each request: a server may close one that is idle at any time, and that is the client's to bear.
    let request = page().header("connection", "close");
    let load = Load::new(gateway.addr(), request)
        .connections(4)
        .pause(Duration::from_millis(1))
        .start();
    for _ in 0..5 {
        let before = load.tally().total();
        gateway.nginx.reload().await?;
        load.until("traffic on the new workers", |tally| {
            tally.total() > before + 50
        })
        .await?;
    }
    let tally = load.stop().await?;
    ensure!(
        tally.failed() == 0,
        "{tally}; nginx's log ends\n{}",
        gateway.nginx.log().tail()
    );
    gateway.stop()
}

async fn exiting_worker_does_not_wait_for_its_poll(form: Form) -> Result<()> {
    let mut gateway = Gateway::start(form, Fixture::start(1, 1).await?).await?;
    // The controller holds a poll for longer than this waits.
    gateway.nginx.reload().await?;
    let complaints: Vec<String> = gateway
        .nginx
        .log()
        .lines()
        .into_iter()
        .filter(|line| line.contains("[alert]"))
        .collect();
    ensure!(complaints.is_empty(), "{complaints:#?}");
    gateway.wait_for_status(200).await?;
    gateway.stop()
}
