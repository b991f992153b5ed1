//! One controller, several Envoys. They listen on the same port (SO_REUSEPORT), so clients meet either.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::envoy::Envoy;
use sluice_tests::load::Load;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Options};

use crate::fixture::{Fixture, HOST, page};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_envoys_follow_one_controller() -> Result<()> {
    let fixture = Fixture::start(3, 2).await?;
    let http = Port::reserve()?;
    let controller = Options::new(&fixture.manifests)
        .without_data_plane()
        .http(http.addr())
        .start()
        .await?;
    let mut envoys = Vec::new();
    for name in ["one", "two"] {
        envoys.push(Envoy::start(&sluice::bootstrap(controller.xds(), name)?).await?);
    }
    for envoy in &mut envoys {
        envoy.ready().await?;
    }
    sluice::wait_for_status(http.addr(), HOST, "/", 200).await?;

    // The kernel chooses by a hash of the connection: with this many, each Envoy gets some.
    let load = Load::new(http.addr(), page())
        .connections(40)
        .pause(Duration::from_millis(5))
        .start();
    load.until("traffic", |tally| tally.total() > 400).await?;
    for envoy in &envoys {
        ensure!(envoy.connections().await? > 0, "an envoy got no connection");
    }
    fixture.endpoints(&[1, 2])?;
    load.until("traffic on web-2", |tally| tally.pod("web-2") > 0)
        .await?;
    fixture.wait_until_idle(0).await?;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");

    for envoy in envoys.drain(..1) {
        envoy.stop()?;
    }
    sluice::wait_for_status(http.addr(), HOST, "/", 200).await?;
    controller.stop()
}
