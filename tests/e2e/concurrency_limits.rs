//! How much one client may ask for.

use anyhow::Result;
use sluice_tests::sluice::Options;

use crate::scenarios::concurrency_limits;

#[tokio::test]
async fn limit_connections_counts_across_workers() -> Result<()> {
    let site = concurrency_limits::site().await?;
    let sluice = Options::new(&site.manifests).workers(3).start().await?;
    concurrency_limits::holds_the_limit(&site, &sluice).await?;
    sluice.stop()
}
