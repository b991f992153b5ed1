//! SIGTERM: open requests finish, connections that rest are closed, and nothing waits for anything else.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http;
use sluice_tests::script::Script;
use sluice_tests::sluice::Options;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_waits_for_open_requests_and_not_for_idle_connections() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    // Far more than the tests wait for a process to end.
    let patient = vec!["--drain-timeout".to_owned(), "600".to_owned()];
    let sluice = Options::new(&fixture.manifests)
        .arguments(patient)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let mut resting = Connection::open(sluice.http()).await?;
    ensure!(resting.send(&page()).await?.status == 200 && resting.is_reusable());
    let before = fixture.pods[0].hits();
    fixture.pods[0].script(Script::echo().delay(Duration::from_millis(700)));
    let addr = sluice.http();
    let request = tokio::spawn(async move { http::send(addr, &page()).await });
    wait::until("the request to arrive", async || {
        (fixture.pods[0].hits() > before).then_some(())
    })
    .await?;

    sluice.stop()?;
    ensure!(request.await??.status == 200);
    ensure!(
        resting.send(&page()).await.is_err(),
        "the connection is still open"
    );
    Ok(())
}
