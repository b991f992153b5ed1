//! A panic in the filter takes the VM down; that must cost one request, not the gateway.

use anyhow::{Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::http;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST, ensure_even_spread, page};

#[tokio::test]
async fn filter_panic_fails_only_its_request() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let wasm = artifacts::filter_with_faults()?;
    let sluice = Options::new(&fixture.manifests)
        .filter(&wasm)
        .arguments(vec!["--native-balancing=off".to_owned()])
        .start()
        .await?;
    for attempt in ["first", "second"] {
        // The second panic shows that the filter is in use again: requests are not let past a dead one.
        ensure!(
            sluice.get(HOST, "/").await?.status == 200,
            "before the {attempt} panic"
        );
        let hit = http::send(sluice.http(), &page().header("x-test-panic", "1")).await?;
        ensure!(
            matches!(hit.status, 500 | 503),
            "{attempt} panic: expected it to show, got {}",
            hit.status
        );
        sluice.wait_for_status(HOST, "/", 200).await?;
        ensure_even_spread(sluice.http(), &[0, 1]).await?;
    }
    sluice.stop()
}
