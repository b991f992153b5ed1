//! The controller looks after the Envoy that it started.

use anyhow::{Context, Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;
use sluice_tests::{proc, process, wait};

use crate::fixture::{Fixture, HOST, ensure_even_spread};

#[tokio::test]
async fn killed_envoy_is_restarted_and_serves() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let first = sluice.envoy_pid().context("no envoy")?;
    process::kill(first);
    let again = async || sluice.envoy_pid().filter(|pid| *pid != first);
    let (second, _) = wait::until("another envoy", again).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    ensure_even_spread(sluice.http(), &[0, 1]).await?;
    sluice.stop()?;
    ensure!(!proc::is_running(second), "envoy outlives the controller");
    Ok(())
}

/// Whoever waits for a new host is told what for.
#[tokio::test]
async fn envoy_that_lags_behind_is_reported_until_it_catches_up() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let says = async |words: &str| {
        let is_said = async || {
            sluice
                .log()
                .lines()
                .iter()
                .any(|line| line.contains(words))
                .then_some(())
        };
        wait::until(words, is_said).await.map(drop)
    };
    let envoy = sluice.envoy_pid().context("no envoy")?;
    process::signal_by_name(envoy, "SIGSTOP")?;
    fixture.manifests.ingress(
        &Ingress::new("default", "new")
            .host("new.test")
            .path("/", "web", 80),
    )?;
    says("Envoy has not acknowledged the publication").await?;
    process::signal_by_name(envoy, "SIGCONT")?;
    says("Envoy has acknowledged the publication").await?;
    sluice.wait_for_status("new.test", "/", 200).await?;
    sluice.stop()
}
