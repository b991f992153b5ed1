//! Replicas are replaced one by one under load, as a rolling update does it, and no request is lost.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::load::Load;
use sluice_tests::service::Service;
use sluice_tests::sluice::{Options, Sluice};
use tokio::process::Command;

use crate::fixture::{Fixture, page};

async fn replica(fixture: &Fixture, service: &Service, data_plane: &str) -> Result<Sluice> {
    let grace = vec!["--shutdown-grace-period=1".to_owned()];
    let replica = Options::new(&fixture.manifests)
        .data_plane(data_plane)
        .arguments(grace)
        .start()
        .await?;
    service.add(replica.http(), replica.health()).await?;
    Ok(replica)
}

/// As a preStop hook does it.
async fn wait_shutdown(replica: &Sluice) -> Result<()> {
    let mut command = Command::new(artifacts::sluice()?);
    let output = command
        .arg("wait-shutdown")
        .arg("--admin-socket")
        .arg(replica.admin_socket())
        .output()
        .await?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Both replicas go, one after the other, each when its successor is ready. `pause` is how long clients rest between
/// two requests on a connection.
async fn replace(data_plane: &str, pause: Duration) -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let service = Service::start().await?;
    let before = [
        replica(&fixture, &service, data_plane).await?,
        replica(&fixture, &service, data_plane).await?,
    ];
    let load = Load::new(service.addr(), page())
        .connections(8)
        .pause(pause)
        .start();
    load.until("the first answers", |tally| tally.total() > 200)
        .await?;
    let mut after = Vec::new();
    for mut old in before {
        after.push(replica(&fixture, &service, data_plane).await?);
        wait_shutdown(&old).await?;
        old.ended().await?;
        // Its exit code is looked at here.
        old.stop()?;
    }
    let done = load.tally().total();
    load.until("answers of the successors", |tally| {
        tally.total() > done + 200
    })
    .await?;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    after.into_iter().try_for_each(Sluice::stop)
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_replicas_fails_no_request_on_busy_connections() -> Result<()> {
    replace("envoy", Duration::ZERO).await
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_replicas_fails_no_request_on_idle_connections() -> Result<()> {
    replace("envoy", Duration::from_millis(40)).await
}
