//! Certificates from Secrets, while clients come and stay.

use std::time::Duration;

use anyhow::Result;
use sluice_tests::sluice::Options;

use crate::scenarios::certificate_rotation::{Clients, ManyHosts, Rotation};

#[tokio::test]
async fn certificate_renewal_keeps_open_connections() -> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().start().await?;
    rotation.renews_without_closing_connections(&sluice).await?;
    sluice.stop()
}

#[tokio::test]
async fn invalid_or_deleted_secret_falls_back_to_the_default_certificate() -> Result<()> {
    let rotation = Rotation::start().await?;
    let sluice = rotation.options().start().await?;
    let clients = Clients::connect(&sluice).await?;
    rotation.falls_back_and_recovers(&sluice, clients).await?;
    sluice.stop()
}

#[tokio::test]
async fn thousand_hosts_present_their_own_certificates() -> Result<()> {
    let many = ManyHosts::start().await?;
    let options = Options::new(&many.fixture.manifests).within(Duration::from_secs(50));
    let sluice = options.start().await?;
    many.present_own_certificates(&sluice).await?;
    sluice.stop()
}
