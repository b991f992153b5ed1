//! Limits are those of an Ingress, whatever its paths.

use anyhow::Result;
use sluice_tests::sluice::Options;

use crate::scenarios::{body_limits, concurrency_limits, rate_limits};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limits_are_those_of_an_ingress() -> Result<()> {
    let fixture = rate_limits::fixture().await?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .workers(2)
        .start()
        .await?;
    rate_limits::are_those_of_an_ingress(&fixture, &sluice).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limit_connections_counts_across_workers() -> Result<()> {
    let fixture = concurrency_limits::fixture().await?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .workers(2)
        .start()
        .await?;
    concurrency_limits::enforces_the_limit(&fixture, &sluice).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_large_for_its_location_is_not_redirected() -> Result<()> {
    for mode in ["off", "auto"] {
        body_limits::of_redirects("nginx", &format!("--nginx-host-table={mode}")).await?;
    }
    Ok(())
}
