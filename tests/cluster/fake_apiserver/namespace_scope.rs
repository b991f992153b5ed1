//! Watched namespaces are served, and others are not even requested.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::apiserver::Cluster;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{apply_web_ingress, flags, web, web_in};

/// An Ingress of our class in another namespace.
async fn apply_ingress_in(cluster: &Cluster, namespace: &str, host: &str) -> Result<()> {
    let ingress = Ingress::new(namespace, "web")
        .class(cluster.namespace())
        .host(host)
        .path("/", "web", 80);
    cluster.apply(&ingress.to_json()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn single_namespace_scope_requests_nothing_of_others() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let pods = web(cluster).await?;
        let other = cluster.add_namespace("-other", json!({})).await?;
        web_in(cluster, &other, &pods).await?;
        apply_ingress_in(cluster, &other, "other.test").await?;
        apply_web_ingress(cluster, "web", "web.test").await?;
        let users = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "users", "namespace": cluster.namespace()},
            "stringData": {"auth": "user:{PLAIN}password"},
        });
        cluster.apply(&users).await?;
        let guarded = Ingress::new(cluster.namespace(), "guarded")
            .class(cluster.namespace())
            .annotation("auth-type", "basic")
            .annotation("auth-secret", "users")
            .host("guarded.test")
            .path("/", "web", 80);
        cluster.apply(&guarded.to_json()).await?;
        let arguments = flags(["--watch-namespace", cluster.namespace()]);
        let sluice = Options::in_cluster(cluster)
            .arguments(arguments)
            .start()
            .await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        ensure!(
            sluice.get("other.test", "/").await?.status == 404,
            "{other} is not watched"
        );
        // Its Secrets are read.
        sluice.wait_for_status("guarded.test", "/", 401).await?;
        sluice.stop()?;

        let inside = format!("/namespaces/{}", cluster.namespace());
        let asked = cluster.gate().asked();
        let outside = asked.iter().find(|asked| {
            let path = asked.target.split('?').next().unwrap_or_default();
            !path.ends_with("/ingressclasses")
                && !format!("{path}/").contains(&format!("{inside}/"))
        });
        ensure!(outside.is_none(), "{outside:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_namespace_fails_at_startup() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let arguments = flags(["--watch-namespace", "nobody-made-this-namespace"]);
        let started = Options::in_cluster(cluster)
            .arguments(arguments)
            .start()
            .await;
        let error = format!("{:#}", started.err().context("it started")?);
        ensure!(
            error.contains("nobody-made-this-namespace: no such namespace"),
            "{error}"
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn namespace_is_served_while_its_labels_match() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let pods = web(cluster).await?;
        apply_web_ingress(cluster, "web", "unlabelled.test").await?;
        // A label that only this test has, whatever else is in the cluster.
        let label = || json!({ "tenant": cluster.namespace() });
        let first = cluster.add_namespace("-first", label()).await?;
        let second = cluster.add_namespace("-second", json!({})).await?;
        for (namespace, host) in [(&first, "first.test"), (&second, "second.test")] {
            web_in(cluster, namespace, &pods).await?;
            apply_ingress_in(cluster, namespace, host).await?;
        }
        let selector = format!("tenant={}", cluster.namespace());
        let arguments = flags(["--watch-namespace-selector", &selector]);
        let sluice = Options::in_cluster(cluster)
            .arguments(arguments)
            .start()
            .await?;
        sluice.wait_for_status("first.test", "/", 200).await?;
        for host in ["unlabelled.test", "second.test"] {
            ensure!(
                sluice.get(host, "/").await?.status == 404,
                "{host}: its namespace is not selected"
            );
        }

        cluster.add_namespace("-second", label()).await?;
        sluice.wait_for_status("second.test", "/", 200).await?;
        cluster.add_namespace("-first", json!({})).await?;
        sluice.wait_for_status("first.test", "/", 404).await?;
        ensure!(
            sluice.get("second.test", "/").await?.status == 200,
            "it is still selected"
        );
        sluice.stop()
    })
    .await
}
