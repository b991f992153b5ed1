//! Envoys that somebody else runs go on without the controller, and follow it again when it is back.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::envoy::Envoy;
use sluice_tests::load::Load;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Options};

use crate::fixture::{Fixture, HOST, ensure_even_spread, page};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoys_serve_without_the_controller_and_follow_it_when_it_returns() -> Result<()> {
    let fixture = Fixture::start(3, 2).await?;
    let (http, folder) = (Port::reserve()?, tempfile::tempdir()?);
    let xds = format!("unix:{}", folder.path().join("xds.sock").display());
    let options = || {
        Options::new(&fixture.manifests)
            .without_data_plane()
            .http(http.addr())
            .xds(&xds)
            .start()
    };
    let controller = options().await?;
    let mut envoy = Envoy::start(&sluice::bootstrap(&xds, "restart")?).await?;
    envoy.ready().await?;
    sluice::wait_for_status(http.addr(), HOST, "/", 200).await?;

    let load = Load::new(http.addr(), page()).connections(4).start();
    controller.stop()?;
    let before = load.tally().total();
    tokio::time::sleep(Duration::from_millis(500)).await;
    ensure!(
        load.tally().total() > before + 100,
        "traffic stopped with the controller: {}",
        load.tally()
    );

    fixture.endpoints(&[1, 2])?;
    let controller = options().await?;
    load.until("traffic on web-2", |tally| tally.pod("web-2") > 0)
        .await?;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}\n{}", envoy.log().tail());

    fixture.endpoints(&[0, 2])?;
    let follows = async || ensure_even_spread(http.addr(), &[0, 2]).await.ok();
    sluice_tests::wait::until("the next change to arrive", follows).await?;
    envoy.stop()?;
    controller.stop()
}
