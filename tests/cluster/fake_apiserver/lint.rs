//! `sluice lint` asks a cluster once, and writes nothing into it.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::artifacts;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{apply_web_ingress, web, web_ingress};

async fn lint(cluster: &Cluster) -> Result<Value> {
    let mut command = Command::new(artifacts::sluice()?);
    command.arg("lint").args(cluster.arguments()).args([
        "--watch-namespace",
        cluster.namespace(),
        "--output",
        "json",
    ]);
    let done = tokio::task::spawn_blocking(move || command.output()).await??;
    serde_json::from_slice(&done.stdout)
        .with_context(|| String::from_utf8_lossy(&done.stderr).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn lint_checks_a_live_cluster() -> Result<()> {
    on_each_apiserver(async |cluster| {
        cluster.ingress_class(cluster.namespace()).await?;
        let _pods = web(cluster).await?;
        apply_web_ingress(cluster, "good", "good.example").await?;
        let mut odd = web_ingress(cluster, "odd", "odd.example").to_json();
        odd["metadata"]["annotations"] =
            json!({"nginx.ingress.kubernetes.io/proxy-read-timeout": "soon"});
        cluster.apply(&odd).await?;
        cluster
            .apply(
                &cluster
                    .ingress("lost")
                    .host("lost.example")
                    .path("/", "nowhere", 80)
                    .to_json(),
            )
            .await?;
        let said = lint(cluster).await?;
        let verdict = |name: &str| {
            let key = format!("{}/{name}", cluster.namespace());
            let mut all = said["ingresses"].as_array().into_iter().flatten();
            all.find(|finding| finding["ingress"] == key.as_str())
                .map(|finding| finding["verdict"].clone())
        };
        ensure!(verdict("good") == Some("unchanged".into()), "{said:#}");
        ensure!(verdict("odd") == Some("differences".into()), "{said:#}");
        // Here nothing is elsewhere.
        ensure!(verdict("lost") == Some("differences".into()), "{said:#}");
        Ok(())
    })
    .await
}
