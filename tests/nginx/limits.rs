//! Limits are those of an Ingress, whatever its paths.

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};
use crate::scenarios::concurrency_limits;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit_is_shared_within_an_ingress_and_not_between_them() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let limited = |name: &str, host: &str| {
        let ingress = Ingress::new("default", name)
            .host(host)
            .path("/", "web", 80)
            .path("/more", "web", 80);
        ingress
            .annotation("limit-rpm", "1")
            .annotation("limit-burst-multiplier", "2")
    };
    fixture.manifests.ingress(&limited("web", HOST))?;
    fixture.manifests.ingress(&limited("other", "other.test"))?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    let mut statuses = Vec::new();
    for path in ["/", "/more", "/more/of/it", "/", "/more"] {
        statuses.push(sluice.get(HOST, path).await?.status);
    }
    ensure!(statuses == [200, 200, 200, 503, 503], "{statuses:?}");
    ensure!(sluice.get("other.test", "/").await?.status == 200);
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
