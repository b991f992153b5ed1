//! SIGTERM: open requests finish, and nothing waits for anything else.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sluice_tests::http;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::site::{Site, page};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_request_finishes_and_then_it_ends_at_once() -> Result<()> {
    let site = Site::start(1, 1).await?;
    let sluice = Sluice::start(&site.manifests).await?;
    let delay = Duration::from_millis(700);
    site.pods[0].script(Script::echo().delay(delay));
    let addr = sluice.http();
    let request = tokio::spawn(async move { http::send(addr, &page()).await });
    wait::until("the request to arrive", async || (site.pods[0].hits() > 0).then_some(())).await?;

    let start = Instant::now();
    sluice.stop()?;
    ensure!(request.await??.status == 200);
    // Well below the two seconds that the tests give to a drain.
    ensure!(start.elapsed() < delay + Duration::from_millis(800), "it took {:?}", start.elapsed());
    Ok(())
}
