//! Limits are those of an Ingress, whatever its paths.

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::crowd;
use crate::site::{HOST, Site};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_paths_of_an_ingress_are_counted_together_and_those_of_another_are_not() -> Result<()> {
    let site = Site::start(1, 1).await?;
    let limited = |name: &str, host: &str| {
        let ingress = Ingress::new("default", name)
            .host(host)
            .path("/", "web", 80)
            .path("/more", "web", 80);
        ingress
            .annotation("limit-rpm", "1")
            .annotation("limit-burst-multiplier", "2")
    };
    site.manifests.ingress(&limited("web", HOST))?;
    site.manifests.ingress(&limited("other", "other.test"))?;
    let sluice = Options::new(&site.manifests)
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
async fn what_a_client_has_in_process_is_limited_over_all_workers() -> Result<()> {
    let site = crowd::site().await?;
    let sluice = Options::new(&site.manifests)
        .data_plane("nginx")
        .workers(2)
        .start()
        .await?;
    crowd::holds_the_limit(&site, &sluice).await?;
    sluice.stop()
}
