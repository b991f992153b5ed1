//! How much one client may ask for.

use anyhow::Result;
use sluice_tests::sluice::Options;

use crate::scenarios::concurrency_limits;

#[tokio::test]
async fn limit_connections_counts_across_workers() -> Result<()> {
    let fixture = concurrency_limits::fixture().await?;
    let sluice = Options::new(&fixture.manifests).workers(3).start().await?;
    concurrency_limits::enforces_the_limit(&fixture, &sluice).await?;
    sluice.stop()
}
