//! How much one client may ask for.

use anyhow::Result;
use sluice_tests::sluice::Options;

use crate::crowd;

#[tokio::test]
async fn what_a_client_has_in_process_is_limited_over_all_workers() -> Result<()> {
    let site = crowd::site().await?;
    let sluice = Options::new(&site.manifests).workers(3).start().await?;
    crowd::holds_the_limit(&site, &sluice).await?;
    sluice.stop()
}
