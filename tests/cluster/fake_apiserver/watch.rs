//! Objects of the cluster are served, and their changes are followed.

use anyhow::{Result, ensure};
use sluice_tests::sluice::Options;

use crate::each_apiserver::on_each_apiserver;

const HOST: &str = "web.test";

#[tokio::test(flavor = "multi_thread")]
async fn ingress_is_served_and_follows_its_endpoints() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let pods = cluster.pods("web", 2).await?;
        cluster.service("web", &pods[..1]).await?;
        cluster
            .apply(
                &cluster
                    .ingress("web")
                    .host(HOST)
                    .path("/", "web", 80)
                    .to_json(),
            )
            .await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        let page = sluice.wait_for_status(HOST, "/", 200).await?;
        ensure!(page.pod() == Some("web-0"), "{page:?}");

        cluster.endpoints("web", &[pods[1].addr()]).await?;
        sluice.wait_for_pod(HOST, "web-1").await?;
        cluster
            .delete("networking.k8s.io/v1", "Ingress", "web")
            .await?;
        sluice.wait_for_status(HOST, "/", 404).await?;
        sluice.stop()
    })
    .await
}
