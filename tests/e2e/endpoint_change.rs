//! Endpoints change while requests run: traffic follows, nothing fails, nothing restarts.

use anyhow::{Result, ensure};
use sluice_tests::load::Load;
use sluice_tests::sluice::Sluice;

use crate::fixture::{Fixture, HOST, ensure_even_spread, page};
use crate::scenarios::large_documents;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolling_update_under_load_fails_no_request() -> Result<()> {
    let fixture = Fixture::start(6, 2).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let envoy = sluice.envoy_pid();
    let load = Load::new(sluice.http(), page()).connections(8).start();
    load.until("traffic", |tally| {
        tally.pod("web-0") > 0 && tally.pod("web-1") > 0
    })
    .await?;

    for new in 2..6 {
        let old = new - 2;
        fixture.endpoints(&[new - 1, new])?;
        load.until(&format!("traffic on web-{new}"), |tally| {
            tally.pod(&format!("web-{new}")) > 0
        })
        .await?;
        fixture.wait_until_idle(old).await?;
    }
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    ensure_even_spread(sluice.http(), &[4, 5]).await?;
    ensure!(sluice.envoy_pid() == envoy, "envoy was started again");
    sluice.stop()
}

#[tokio::test]
async fn no_endpoints_means_503_until_one_returns() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    ensure!(sluice.get(HOST, "/").await?.status == 200);
    fixture.endpoints(&[])?;
    sluice.wait_for_status(HOST, "/", 503).await?;
    fixture.endpoints(&[0])?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn document_of_more_than_a_mebibyte_comes_by_the_poll() -> Result<()> {
    large_documents::traffic_follows("envoy").await
}
