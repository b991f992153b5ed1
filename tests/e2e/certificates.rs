//! Certificates from Secrets, while clients come and stay.

use anyhow::Result;
use sluice_tests::sluice::Options;

use crate::rotation::{Clients, Many, Rotation};

#[tokio::test]
async fn a_certificate_changes_under_open_connections() -> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().start().await?;
    rotation.renews_under_open_connections(&sluice).await?;
    sluice.stop()
}

#[tokio::test]
async fn a_secret_that_is_spoiled_or_deleted_leaves_its_host_to_the_default_certificate()
-> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().start().await?;
    let clients = Clients::connect(&sluice).await?;
    rotation.falls_back_and_recovers(&sluice, clients).await?;
    sluice.stop()
}

#[tokio::test]
async fn a_thousand_hosts_present_a_certificate_each() -> Result<()> {
    let many = Many::start().await?;
    let sluice = Options::new(&many.site.manifests).start().await?;
    many.present_their_own(&sluice).await?;
    sluice.stop()
}
