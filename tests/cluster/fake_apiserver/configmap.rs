//! The controller's own ConfigMap, and the ConfigMaps that it names.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::http::Response;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{NETWORKING, apply_web_ingress, flags, web, web_ingress};

async fn config_map(cluster: &Cluster, namespace: &str, name: &str, data: Value) -> Result<()> {
    let metadata = json!({ "namespace": namespace, "name": name });
    cluster
        .apply(
            &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }),
        )
        .await
}

async fn wait_for(sluice: &Sluice, what: &str, holds: impl Fn(&Response) -> bool) -> Result<()> {
    let probe = async || {
        sluice
            .get("web.test", "/")
            .await
            .ok()
            .filter(|page| holds(page))
            .map(drop)
    };
    wait::until(what, probe).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn config_map_and_its_references_are_followed() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        apply_web_ingress(cluster, "web", "web.test").await?;
        let own = cluster.namespace();
        config_map(
            cluster,
            own,
            "settings",
            json!({ "add-headers": format!("{own}/answers") }),
        )
        .await?;
        config_map(cluster, own, "answers", json!({ "X-Answer": "one" })).await?;
        config_map(cluster, own, "unnamed", json!({})).await?;
        let named = format!("{own}/settings");
        let sluice = Options::in_cluster(cluster)
            .arguments(flags(["--configmap", &named]))
            .start()
            .await?;
        wait_for(&sluice, "a header", |page| {
            page.header("x-answer") == Some("one")
        })
        .await?;
        config_map(cluster, own, "answers", json!({ "X-Answer": "two" })).await?;
        wait_for(&sluice, "the other header", |page| {
            page.header("x-answer") == Some("two")
        })
        .await?;
        ensure!(
            cluster.gate().count("GET", "/configmaps/unnamed") == 0,
            "nobody names it"
        );

        config_map(
            cluster,
            own,
            "settings",
            json!({ "force-ssl-redirect": "true" }),
        )
        .await?;
        wait_for(&sluice, "a redirect", |page| page.status == 308).await?;
        cluster.delete("v1", "ConfigMap", "settings").await?;
        sluice.log().wait_for("its last content is used").await?;
        wait_for(&sluice, "the redirect still", |page| page.status == 308).await?;
        config_map(cluster, own, "settings", json!({})).await?;
        wait_for(&sluice, "the defaults", |page| {
            page.status == 200 && page.header("x-answer").is_none()
        })
        .await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn config_map_may_be_in_an_unserved_namespace() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let elsewhere = cluster.add_namespace("-elsewhere", json!({})).await?;
        config_map(
            cluster,
            &elsewhere,
            "settings",
            json!({ "force-ssl-redirect": "true" }),
        )
        .await?;
        // An Ingress that names it, too, and then does not, takes nothing away.
        let named = format!("{elsewhere}/settings");
        cluster
            .apply(
                &web_ingress(cluster, "names", "names.test")
                    .annotation("custom-headers", &named)
                    .to_json(),
            )
            .await?;
        apply_web_ingress(cluster, "web", "web.test").await?;
        let arguments = flags([
            "--configmap",
            &named,
            "--watch-namespace",
            cluster.namespace(),
        ]);
        let sluice = Options::in_cluster(cluster)
            .arguments(arguments)
            .start()
            .await?;
        wait_for(&sluice, "a redirect", |page| page.status == 308).await?;
        cluster.delete(NETWORKING, "Ingress", "names").await?;
        sluice.wait_for_status("names.test", "/", 404).await?;
        wait_for(&sluice, "a redirect", |page| page.status == 308).await?;
        config_map(cluster, &elsewhere, "settings", json!({})).await?;
        wait_for(&sluice, "no redirect", |page| page.status == 200).await?;
        sluice.stop()
    })
    .await
}
