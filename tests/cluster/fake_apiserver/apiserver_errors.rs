//! The API server is there and does not do what it is asked.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::apiserver::Cluster;
use sluice_tests::apiserver::gate::Fault;
use sluice_tests::sluice::Options;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{apply_web_ingress, web, web_ingress};

/// Requests of a while in which nothing works. Without a back-off they would be thousands.
const FEW: usize = 150;

async fn survives_status(cluster: &Cluster, status: u16) -> Result<()> {
    let before = format!("before-{status}.test");
    let after = format!("after-{status}.test");
    apply_web_ingress(cluster, "web", &before).await?;
    let sluice = Options::in_cluster(cluster).start().await?;
    sluice.wait_for_status(&before, "/", 200).await?;
    let fault = cluster.gate().fail("", "", Fault::Status(status));
    let asked = cluster.gate().asked().len();
    cluster.gate().cut();
    apply_web_ingress(cluster, "more", &after).await?;
    sluice
        .log()
        .wait_for("what was read before is still served")
        .await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = cluster.gate().asked().len() - asked;
    ensure!(
        (1..FEW).contains(&asked),
        "{status}: asked {asked} times in two seconds"
    );
    ensure!(
        sluice.get(&before, "/").await?.status == 200,
        "{status}: it is still served"
    );
    drop(fault);
    sluice.wait_for_status(&after, "/", 200).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn api_errors_are_retried_with_backoff() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        for status in [429, 500, 503, 410] {
            survives_status(cluster, status).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_permissions_affect_nothing_else() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        survives_status(cluster, 403).await?;
        survives_status(cluster, 401).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_responses_only_cause_delay() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        apply_web_ingress(cluster, "web", "web.test").await?;
        let _slow = cluster
            .gate()
            .fail("", "", Fault::Delay(Duration::from_millis(1500)));
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        apply_web_ingress(cluster, "more", "more.test").await?;
        sluice.wait_for_status("more.test", "/", 200).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_secret_delays_nothing_else() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let metadata = json!({ "namespace": cluster.namespace(), "name": "named" });
        cluster
            .apply(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata }))
            .await?;
        let mut ingress = web_ingress(cluster, "web", "web.test")
            .annotation("ssl-redirect", "false")
            .to_json();
        ingress["spec"]["tls"] = json!([{ "secretName": "named" }]);
        cluster.apply(&ingress).await?;
        let unreadable = cluster
            .gate()
            .fail("GET", "/secrets/named", Fault::Status(500));
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        let reads = cluster.gate().count("GET", "/secrets/named");
        drop(unreadable);
        let again = async || (cluster.gate().count("GET", "/secrets/named") > reads).then_some(());
        sluice_tests::wait::until("another attempt", again).await?;
        sluice.stop()
    })
    .await
}
