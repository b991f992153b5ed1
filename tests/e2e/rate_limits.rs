//! How much one client may ask for in a time.

use anyhow::Result;
use sluice_tests::sluice::Options;

use crate::scenarios::rate_limits;

async fn holds(scopes_from: &str) -> Result<()> {
    let fixture = rate_limits::fixture().await?;
    let sluice = Options::new(&fixture.manifests)
        .workers(3)
        .arguments(vec!["--scopes-from".into(), scopes_from.into()])
        .start()
        .await?;
    rate_limits::are_those_of_an_ingress(&fixture, &sluice).await?;
    sluice.stop()
}

#[tokio::test]
async fn rate_limits_are_those_of_an_ingress_in_a_table() -> Result<()> {
    holds("1000").await
}

#[tokio::test]
async fn rate_limits_are_those_of_an_ingress_in_scopes() -> Result<()> {
    holds("0").await
}
