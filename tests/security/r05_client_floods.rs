//! R5: what is known of clients has a size, and whoever fills it frees nobody that is over a limit.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags};

on_every_plane!(flood_of_clients_frees_no_limited_client);

const CLIENTS: u32 = 1500;

async fn flood_of_clients_frees_no_limited_client(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"use-forwarded-headers": "true"},
    });
    tenants.manifests.object(&settings)?;
    for (namespace, host) in [(OWNER, "owner.test"), (FOREIGN, "foreign.test")] {
        let limited = Ingress::new(namespace, "limited")
            .host(host)
            .path("/", "web", 80)
            .annotation("limit-rpm", "1")
            .annotation("limit-burst-multiplier", "2");
        tenants.manifests.ingress(&limited)?;
    }
    let sluice = plane
        .options(&tenants.manifests)
        .arguments(snippet_flags())
        .start()
        .await?;
    let statuses = async |host: &str, address: &str| -> Result<Vec<u16>> {
        let mut statuses = Vec::new();
        for _ in 0..4 {
            statuses.push(ask(&sluice, host, address).await?);
        }
        Ok(statuses)
    };
    ensure!(statuses("owner.test", "198.51.100.1").await? == [200, 200, 200, 503]);
    for client in 0..CLIENTS {
        let address = format!("2001:db8::{client:x}");
        let status = ask(&sluice, "foreign.test", &address).await?;
        ensure!(status == 200, "{address}: {status}");
    }
    ensure!(statuses("owner.test", "198.51.100.1").await? == [503; 4]);
    ensure!(statuses("owner.test", "198.51.100.2").await? == [200, 200, 200, 503]);
    sluice.stop()
}

async fn ask(sluice: &Sluice, host: &str, address: &str) -> Result<u16> {
    let request = Request::get(host, "/").header("x-forwarded-for", address);
    Ok(http::send(sluice.http(), &request).await?.status)
}
