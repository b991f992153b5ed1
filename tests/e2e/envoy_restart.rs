//! The controller looks after the Envoy that it started.

use anyhow::{Context, Result, ensure};
use sluice_tests::sluice::Sluice;
use sluice_tests::{proc, process, wait};

use crate::site::{HOST, Site, spreads_evenly};

#[tokio::test]
async fn an_envoy_that_is_killed_is_started_again_and_serves() -> Result<()> {
    let site = Site::start(2, 2).await?;
    let sluice = Sluice::start(&site.manifests).await?;
    let first = sluice.envoy_pid().context("no envoy")?;
    process::kill(first);
    let again = async || sluice.envoy_pid().filter(|pid| *pid != first);
    let (second, _) = wait::until("another envoy", again).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    spreads_evenly(sluice.http(), &[0, 1]).await?;
    sluice.stop()?;
    ensure!(!proc::is_running(second), "envoy outlives the controller");
    Ok(())
}
