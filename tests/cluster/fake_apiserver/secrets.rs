//! Of Secrets and ConfigMaps only metadata is watched; only what our Ingresses name is read.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{web, web_ingress};

async fn secret(cluster: &Cluster, name: &str, value: &str) -> Result<()> {
    cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": cluster.namespace(), "name": name },
            "stringData": { "value": value },
        }))
        .await
}

/// An Ingress whose TLS section names this Secret.
fn ingress_with_secret(cluster: &Cluster, name: &str, secret: &str) -> Value {
    let host = format!("{name}.test");
    let mut ingress = web_ingress(cluster, name, &host)
        .annotation("ssl-redirect", "false")
        .to_json();
    ingress["spec"]["tls"] = json!([{ "hosts": [host], "secretName": secret }]);
    ingress
}

fn reads(cluster: &Cluster, name: &str) -> usize {
    cluster.gate().count(
        "GET",
        &format!("/namespaces/{}/secrets/{name}", cluster.namespace()),
    )
}

async fn wait_for_reads(cluster: &Cluster, name: &str, times: usize) -> Result<()> {
    let probe = async || (reads(cluster, name) == times).then_some(());
    wait::until(
        &format!("Secret {name} to be read for the {times}. time"),
        probe,
    )
    .await
    .map(drop)
}

/// Waits until everything that was applied so far has arrived.
async fn wait_until_current(cluster: &Cluster, sluice: &Sluice, host: &str) -> Result<()> {
    cluster
        .apply(&web_ingress(cluster, "marker", host).to_json())
        .await?;
    sluice.wait_for_status(host, "/", 200).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_secrets_of_own_ingresses_are_read() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        for name in ["named", "unnamed", "theirs"] {
            secret(cluster, name, "1").await?;
        }
        cluster
            .apply(&ingress_with_secret(cluster, "web", "named"))
            .await?;
        let mut theirs = ingress_with_secret(cluster, "theirs", "theirs");
        theirs["spec"]["ingressClassName"] = "nobody-made-this-class".into();
        cluster.apply(&theirs).await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        wait_for_reads(cluster, "named", 1).await?;

        secret(cluster, "named", "2").await?;
        secret(cluster, "unnamed", "2").await?;
        wait_for_reads(cluster, "named", 2).await?;
        wait_until_current(cluster, &sluice, "marker.test").await?;
        for name in ["unnamed", "theirs"] {
            ensure!(reads(cluster, name) == 0, "nobody of ours names {name}");
        }
        cluster
            .apply(&ingress_with_secret(cluster, "another", "unnamed"))
            .await?;
        wait_for_reads(cluster, "unnamed", 1).await?;
        sluice.stop()?;
        ensure_metadata_only(cluster)
    })
    .await
}

fn ensure_metadata_only(cluster: &Cluster) -> Result<()> {
    for asked in cluster.gate().asked() {
        let path = asked.target.split('?').next().unwrap_or_default();
        let kind = path.rsplit('/').next().unwrap_or_default();
        if matches!(kind, "secrets" | "configmaps") {
            ensure!(asked.metadata_only, "{asked:?} asks for what is in them");
        }
        ensure!(
            asked.method == "GET" || !path.contains("/secrets"),
            "{asked:?}"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_secret_in_use_stops_no_traffic() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        secret(cluster, "named", "1").await?;
        cluster
            .apply(&ingress_with_secret(cluster, "web", "named"))
            .await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        wait_for_reads(cluster, "named", 1).await?;
        cluster.delete("v1", "Secret", "named").await?;
        wait_until_current(cluster, &sluice, "marker.test").await?;
        ensure!(
            sluice.get("web.test", "/").await?.status == 200,
            "traffic goes on"
        );
        secret(cluster, "named", "2").await?;
        wait_for_reads(cluster, "named", 2).await?;
        ensure!(
            sluice.get("web.test", "/").await?.status == 200,
            "traffic goes on"
        );
        sluice.stop()
    })
    .await
}

/// An Ingress whose requests need a password of this Secret.
fn guarded_ingress(cluster: &Cluster, name: &str, host: &str) -> Value {
    web_ingress(cluster, name, host)
        .annotation("auth-type", "basic")
        .annotation("auth-secret", name)
        .to_json()
}

async fn passwords(cluster: &Cluster, name: &str) -> Result<()> {
    cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": cluster.namespace(), "name": name },
            "stringData": { "auth": "user:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n" },
        }))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_exist_are_never_reported() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        for name in ["before", "after"] {
            passwords(cluster, name).await?;
        }
        cluster
            .apply(&guarded_ingress(cluster, "before", "before.test"))
            .await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("before.test", "/", 401).await?;
        cluster
            .apply(&guarded_ingress(cluster, "after", "after.test"))
            .await?;
        sluice.wait_for_status("after.test", "/", 401).await?;
        let lines = sluice.log().lines();
        let reports: Vec<&String> = lines
            .iter()
            .filter(|line| line.contains("auth-secret"))
            .collect();
        ensure!(reports.is_empty(), "{reports:#?}");
        sluice.stop()
    })
    .await
}
