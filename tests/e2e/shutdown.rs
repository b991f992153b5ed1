//! SIGTERM: open requests finish, and nothing waits for anything else.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sluice_tests::http;
use sluice_tests::script::Script;
use sluice_tests::sluice::Options;
use sluice_tests::wait;

use crate::fixture::{Fixture, page};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_waits_only_for_the_open_request() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    // Far more than the tests wait for a process to end.
    let patient = vec!["--drain-timeout".to_owned(), "600".to_owned()];
    let sluice = Options::new(&fixture.manifests)
        .arguments(patient)
        .start()
        .await?;
    let delay = Duration::from_millis(700);
    fixture.pods[0].script(Script::echo().delay(delay));
    let addr = sluice.http();
    let request = tokio::spawn(async move { http::send(addr, &page()).await });
    wait::until("the request to arrive", async || {
        (fixture.pods[0].hits() > 0).then_some(())
    })
    .await?;

    sluice.stop()?;
    ensure!(request.await??.status == 200);
    Ok(())
}

/// Shorter than the tests wait for a process to end, and longer than it takes to look.
const GRACE_SECONDS: &str = "5";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drained_controller_stays_for_its_grace_period() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let flags = ["--post-shutdown-grace-period", GRACE_SECONDS];
    let sluice = Options::new(&fixture.manifests)
        .arguments(flags.map(str::to_owned).into())
        .start()
        .await?;
    let data_plane = sluice.data_plane_pid().context("no data plane")?;
    sluice.signal("SIGTERM")?;
    let drained = async || (!is_alive(data_plane)).then_some(());
    wait::until("the data plane to end", drained).await?;
    ensure!(is_alive(sluice.pid()), "the controller has not stayed");
    ensure!(sluice.exit_status().await?.success());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn second_signal_ends_the_grace_period() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let flags = vec!["--post-shutdown-grace-period=600".to_owned()];
    let options = Options::new(&fixture.manifests).arguments(flags);
    let sluice = options.start().await?;
    sluice.signal("SIGTERM")?;
    let said = async || {
        let tail = sluice.log().tail();
        tail.contains("for 600 s; a second signal ends that")
            .then_some(())
    };
    wait::until("the grace period", said).await?;
    sluice.signal("SIGINT")?;
    ensure!(sluice.exit_status().await?.success());
    Ok(())
}

fn is_alive(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}/exe")).exists()
}
