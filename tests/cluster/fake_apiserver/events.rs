//! Differences from an owner's intent are Events on the object, for `kubectl describe`.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sluice_tests::apiserver::Cluster;
use sluice_tests::apiserver::gate::Fault;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{NETWORKING, web, web_ingress};

async fn start(cluster: &Cluster) -> Result<Sluice> {
    Options::in_cluster(cluster)
        .without_data_plane()
        .start()
        .await
}

/// An Ingress with an annotation that cannot be read.
fn ingress_with_invalid_annotation(cluster: &Cluster) -> Ingress {
    web_ingress(cluster, "web", "web.test").annotation("proxy-read-timeout", "soon")
}

/// The Event about an Ingress that is as it should be.
async fn wait_for_event(
    cluster: &Cluster,
    ingress: &str,
    is_right: impl Fn(&Value) -> bool,
) -> Result<Value> {
    let probe = async || {
        let events = cluster.list("v1", "Event").await.ok()?;
        events
            .into_iter()
            .find(|event| event["involvedObject"]["name"] == ingress && is_right(event))
    };
    Ok(wait::until(&format!("an Event for {ingress}"), probe)
        .await?
        .0)
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_annotation_becomes_an_event_on_its_ingress() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        cluster
            .apply(&ingress_with_invalid_annotation(cluster).to_json())
            .await?;
        let mut theirs = ingress_with_invalid_annotation(cluster)
            .class("nobody-made-this-class")
            .to_json();
        theirs["metadata"]["name"] = "theirs".into();
        cluster.apply(&theirs).await?;
        let sluice = start(cluster).await?;
        let event = wait_for_event(cluster, "web", |_| true).await?;
        let ingress = cluster
            .get(NETWORKING, "Ingress", "web")
            .await?
            .context("no Ingress")?;
        ensure!(
            event["involvedObject"]["uid"] == ingress["metadata"]["uid"],
            "{event}"
        );
        ensure!(
            event["type"] == "Warning" && event["reason"] == "AnnotationParsingFailed",
            "{event}"
        );
        let message = event["message"].as_str().unwrap_or_default();
        ensure!(
            message.contains("proxy-read-timeout") && message.contains("\"soon\""),
            "{event}"
        );
        sluice.stop()?;
        let events = cluster.list("v1", "Event").await?;
        let about_theirs = events
            .iter()
            .find(|event| event["involvedObject"]["name"] == "theirs");
        ensure!(
            about_theirs.is_none(),
            "an Ingress of another controller: {about_theirs:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_ingress_becomes_an_event_for_each_change() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let before = web_ingress(cluster, "before", "before.test");
        let before = before.annotation("proxy-read-timeout", "soon");
        cluster.apply(&before.to_json()).await?;
        let sluice = start(cluster).await?;
        // Then it has read what was there before.
        wait_for_event(cluster, "before", |_| true).await?;
        let created = web_ingress(cluster, "web", "web.test");
        cluster.apply(&created.to_json()).await?;
        let is_sync =
            |count: u64| move |event: &Value| event["reason"] == "Sync" && event["count"] == count;
        let event = wait_for_event(cluster, "web", is_sync(1)).await?;
        ensure!(
            event["type"] == "Normal" && event["message"] == "Scheduled for sync",
            "{event}"
        );
        let changed = created.annotation("proxy-read-timeout", "5");
        cluster.apply(&changed.to_json()).await?;
        wait_for_event(cluster, "web", is_sync(2)).await?;
        sluice.stop()?;
        let events = cluster.list("v1", "Event").await?;
        let others = events
            .iter()
            .filter(|event| event["involvedObject"]["name"] != "web" && event["reason"] == "Sync")
            .count();
        ensure!(others == 0, "{events:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_sync_events_only_reports_become_events() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        let sluice = Options::in_cluster(cluster)
            .arguments(vec!["--disable-sync-events".to_owned()])
            .without_data_plane()
            .start()
            .await?;
        cluster
            .apply(&web_ingress(cluster, "good", "good.test").to_json())
            .await?;
        cluster
            .apply(&ingress_with_invalid_annotation(cluster).to_json())
            .await?;
        wait_for_event(cluster, "web", |event| event["type"] == "Warning").await?;
        sluice.stop()?;
        let events = cluster.list("v1", "Event").await?;
        let synced = events.iter().find(|event| event["reason"] == "Sync");
        ensure!(synced.is_none(), "{synced:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_increments_existing_events() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        cluster
            .apply(&ingress_with_invalid_annotation(cluster).to_json())
            .await?;
        for count in 1..=3 {
            let sluice = start(cluster).await?;
            wait_for_event(cluster, "web", |event| event["count"] == count).await?;
            sluice.stop()?;
        }
        let events = cluster.list("v1", "Event").await?;
        ensure!(
            events
                .iter()
                .filter(|event| event["involvedObject"]["name"] == "web")
                .count()
                == 1
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_permission_for_events_affects_nothing_else() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        cluster
            .apply(&ingress_with_invalid_annotation(cluster).to_json())
            .await?;
        let _forbidden = cluster.gate().fail("POST", "/events", Fault::Status(403));
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice
            .log()
            .wait_for("such reports are only in this log")
            .await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_reload_becomes_an_event_on_its_pod() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        cluster
            .apply(&web_ingress(cluster, "web", "web.test").to_json())
            .await?;
        let sluice = Options::in_cluster(cluster)
            .data_plane("nginx")
            .start()
            .await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        let first =
            wait_for_event(cluster, "sluice-0", |event| event["reason"] == "RELOAD").await?;
        ensure!(
            first["type"] == "Normal" && first["involvedObject"]["kind"] == "Pod",
            "{first}"
        );
        let message = "NGINX reload triggered due to a change in configuration";
        ensure!(first["message"] == message, "{first}");
        cluster
            .apply(
                &web_ingress(cluster, "more", "more.test")
                    .annotation("proxy-read-timeout", "77")
                    .to_json(),
            )
            .await?;
        wait_for_event(cluster, "sluice-0", |event| {
            event["count"].as_u64() > first["count"].as_u64()
        })
        .await?;
        sluice.stop()
    })
    .await
}
