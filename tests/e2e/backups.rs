//! Pods that are backups of others, in Envoy.

use anyhow::{Result, ensure};
use sluice_tests::sluice::Sluice;

use crate::scenarios::backups::{self, place_pods};
use crate::session_affinity::{new_clients, sticky_ingress, wait_until_used};

#[tokio::test]
async fn backups_serve_when_no_primary_does() -> Result<()> {
    backups::serve_without_primaries("envoy", &[]).await
}

#[tokio::test]
async fn backups_serve_when_no_primary_does_in_route_scopes() -> Result<()> {
    backups::serve_without_primaries("envoy", &["--scopes-from", "0"]).await
}

#[tokio::test]
async fn backups_take_connections_when_no_primary_does() -> Result<()> {
    backups::take_connections_without_primaries("envoy").await
}

#[tokio::test]
async fn sessions_move_to_backups_with_the_last_primary_and_begin_on_primaries() -> Result<()> {
    for mode in ["persistent", "balanced"] {
        let fixture = backups::site().await?;
        fixture.manifests.ingress(&sticky_ingress(mode))?;
        let sluice = Sluice::start(&fixture.manifests).await?;
        let clients = new_clients(sluice.http(), 12).await?;
        let on_backup = |pod: &str| pod == "web-2" || pod == "web-3";
        ensure!(clients.iter().all(|(_, pod)| !on_backup(pod)), "{mode}");
        place_pods(&fixture, &[2])?;
        wait_until_used(sluice.http(), "web-2").await?;
        for (mut client, _) in clients {
            for _ in 0..3 {
                let pod = client.visit(sluice.http()).await?;
                ensure!(pod == "web-2", "{mode}: {pod}");
            }
        }
        place_pods(&fixture, &[1, 2])?;
        wait_until_used(sluice.http(), "web-1").await?;
        let clients = new_clients(sluice.http(), 12).await?;
        ensure!(clients.iter().all(|(_, pod)| pod == "web-1"), "{mode}");
        sluice.stop()?;
    }
    Ok(())
}
