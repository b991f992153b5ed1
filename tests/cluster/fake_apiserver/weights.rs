//! Pods of a cluster that say their weight.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::endpoint_slice;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{apply_web_ingress, flags};

const HOST: &str = "web.test";
const REQUESTS: u64 = 100;

fn pod(cluster: &Cluster, name: &str, weight: &str) -> Value {
    let annotations = json!({ "sluice.dev/weight": weight });
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "namespace": cluster.namespace(), "name": name, "annotations": annotations },
        "spec": { "nodeName": "a", "containers": [{ "name": "none", "image": "registry.invalid/none" }] },
    })
}

/// A Service whose endpoints name their Pods; the first says its weight.
async fn apply_weighted_service(cluster: &Cluster, weight: &str) -> Result<Vec<Echo>> {
    let pods = cluster.pods("web", 2).await?;
    cluster.service("web", &pods).await?;
    let addrs: Vec<_> = pods.iter().map(Echo::addr).collect();
    let mut slice = endpoint_slice(cluster.namespace(), "web", &addrs);
    for (endpoint, pod) in slice["endpoints"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .zip(&pods)
    {
        endpoint["targetRef"] =
            json!({ "kind": "Pod", "namespace": cluster.namespace(), "name": pod.name() });
    }
    cluster.apply(&slice).await?;
    cluster.apply(&pod(cluster, "web-0", weight)).await?;
    apply_web_ingress(cluster, "web", HOST).await?;
    Ok(pods)
}

/// How many of a hundred requests the weighted pod gets.
async fn share(sluice: &Sluice) -> Result<u64> {
    let load = Load::new(sluice.http(), Request::get(HOST, "/"))
        .connections(1)
        .max_requests(REQUESTS);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(tally.failed() == 0 && tally.total() == REQUESTS, "{tally}");
    Ok(tally.pod("web-0"))
}

#[tokio::test(flavor = "multi_thread")]
async fn pod_weights_are_followed_when_enabled() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = apply_weighted_service(cluster, "9").await?;
        let sluice = Options::in_cluster(cluster)
            .arguments(flags(["--pod-weights"]))
            .start()
            .await?;
        let share_is = async |expected: u64| {
            let found = async || (share(&sluice).await.ok()?.abs_diff(expected) <= 2).then_some(());
            wait::until(
                &format!("{expected} of {REQUESTS} requests on web-0"),
                found,
            )
            .await
            .map(drop)
        };
        share_is(90).await?;
        cluster.apply(&pod(cluster, "web-0", "4")).await?;
        share_is(80).await?;
        cluster.delete("v1", "Pod", "web-0").await?;
        share_is(50).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pod_metadata_is_watched_and_only_for_weights() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = apply_weighted_service(cluster, "9").await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        ensure!(
            share(&sluice).await?.abs_diff(REQUESTS / 2) <= 1,
            "a weight was honoured unasked"
        );
        sluice.stop()?;
        let of_pods = || {
            cluster
                .gate()
                .asked()
                .into_iter()
                .filter(|asked| asked.target.contains("/pods?"))
        };
        ensure!(
            of_pods().count() == 0,
            "{:?}",
            of_pods().collect::<Vec<_>>()
        );
        let sluice = Options::in_cluster(cluster)
            .arguments(flags(["--pod-weights"]))
            .start()
            .await?;
        sluice.wait_for_status(HOST, "/", 200).await?;
        sluice.stop()?;
        let whole: Vec<_> = of_pods().filter(|asked| !asked.metadata_only).collect();
        ensure!(of_pods().count() > 0 && whole.is_empty(), "{whole:?}");
        Ok(())
    })
    .await
}
