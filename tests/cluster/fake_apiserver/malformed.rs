//! Objects as no API server should have them: old versions, other clients and disabled validation leave such behind.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::sluice::Options;
use sluice_tests::wait;

use crate::each_apiserver::{on_each_apiserver, print};
use crate::setup::{NETWORKING, apply_web_ingress, web, web_ingress};

/// Ingresses that say less, or more, than there is to say.
fn incomplete_ingresses(cluster: &Cluster) -> Vec<Value> {
    let mut only_a_host = cluster.ingress("only-a-host").to_json();
    only_a_host["spec"]["rules"] = json!([{ "host": "bare.test" }]);
    let canary = |ingress: &mut Value| {
        ingress["metadata"]["annotations"] = json!({
            "nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/canary-weight": "10",
        });
    };
    let mut canary_without_http = cluster.ingress("canary").to_json();
    canary_without_http["spec"]["rules"] = json!([{ "host": "web.test" }]);
    let mut canary_without_rules = cluster.ingress("canary-of-nothing").to_json();
    canary_without_rules["spec"]["rules"] = Value::Null;
    canary_without_rules["spec"]["defaultBackend"] =
        json!({ "service": { "name": "web", "port": { "number": 80 } } });
    canary(&mut canary_without_http);
    canary(&mut canary_without_rules);
    vec![only_a_host, canary_without_http, canary_without_rules]
}

/// Objects that only the fake stores: with other types than Kubernetes has, and unknown fields.
fn ill_typed_objects(cluster: &Cluster) -> Vec<Value> {
    let mut inventive = web_ingress(cluster, "inventive", "inventive.test").to_json();
    inventive["spec"]["tomorrow"] = json!({ "of": ["everything"] });
    inventive["spec"]["rules"][0]["http"]["paths"][0]["also"] = 1.into();
    let mut no_list = web_ingress(cluster, "no-list", "no-list.test").to_json();
    no_list["spec"]["rules"] = "none".into();
    let mut nothing = cluster.ingress("nothing").to_json();
    nothing["spec"]["rules"] = Value::Null;
    let mut no_spec = cluster.ingress("no-spec").to_json();
    no_spec["spec"] = Value::Null;
    let mut labels = web_ingress(cluster, "labels", "labels.test").to_json();
    labels["metadata"]["labels"] = 3.into();
    let metadata = |name: &str| json!({ "namespace": cluster.namespace(), "name": name });
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata("slice"),
        "addressType": 4, "endpoints": null,
    });
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata("ports"),
        "spec": { "ports": [{ "port": "eighty" }] } });
    vec![inventive, no_list, nothing, no_spec, labels, slice, service]
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_objects_affect_no_others() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        for ingress in incomplete_ingresses(cluster) {
            cluster.apply(&ingress).await?;
        }
        match cluster.as_fake() {
            Some(fake) => ill_typed_objects(cluster)
                .into_iter()
                .try_for_each(|object| fake.put(object))?,
            None => {
                print("a real API server does not take what is wrong; only what is odd is played");
            }
        }
        apply_web_ingress(cluster, "web", "web.test").await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        for _ in 0..20 {
            sluice.wait_for_status("web.test", "/", 200).await?;
        }
        ensure!(
            sluice.get("bare.test", "/").await?.status == 404,
            "a host without paths"
        );
        if cluster.as_fake().is_some() {
            sluice.wait_for_status("inventive.test", "/", 200).await?;
            sluice.log().wait_for("no-list").await?;
        }
        apply_web_ingress(cluster, "later", "later.test").await?;
        sluice.wait_for_status("later.test", "/", 200).await?;
        sluice.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn object_that_becomes_invalid_keeps_its_last_state_and_is_reported() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let Some(fake) = cluster.as_fake() else {
            print("a real API server does not take what is wrong: not played");
            return Ok(());
        };
        let _pods = web(cluster).await?;
        apply_web_ingress(cluster, "web", "web.test").await?;
        let sluice = Options::in_cluster(cluster).start().await?;
        sluice.wait_for_status("web.test", "/", 200).await?;
        let mut broken = web_ingress(cluster, "web", "web.test").to_json();
        broken["spec"]["rules"] = "none".into();
        fake.put(broken)?;
        let is_reported = async || {
            let events = cluster.list("v1", "Event").await.ok()?;
            events
                .into_iter()
                .find(|event| event["involvedObject"]["name"] == "web")
        };
        let (event, _) = wait::until("an Event", is_reported).await?;
        let message = event["message"].as_str().context("no message")?;
        ensure!(
            event["reason"] == "InvalidValue" && message.contains("rules"),
            "{event}"
        );
        ensure!(
            sluice.get("web.test", "/").await?.status == 200,
            "it is served as it was"
        );

        apply_web_ingress(cluster, "web", "mended.test").await?;
        sluice.wait_for_status("mended.test", "/", 200).await?;
        cluster.delete(NETWORKING, "Ingress", "web").await?;
        sluice.wait_for_status("mended.test", "/", 404).await?;
        sluice.stop()
    })
    .await
}
