//! Metrics that only a controller in a cluster has: leadership, and the certificates in Secrets.

use anyhow::Result;
use serde_json::json;
use sluice_tests::apiserver::Cluster;
use sluice_tests::cases::ingress::certificates::Authorities;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{http, wait};

use crate::each_apiserver::on_each_apiserver;
use crate::setup::{apply_web_ingress, flags, web, web_ingress};

const HOST: &str = "secure.test";

/// Waits until a line of the metrics begins and ends like this and has all of these labels.
async fn wait_for_metric(sluice: &Sluice, name: &str, labels: &[&str], end: &str) -> Result<()> {
    let probe = async || {
        let page = http::get(sluice.health(), "metrics", "/metrics")
            .await
            .ok()?
            .text();
        let found = page.lines().any(|line| {
            line.strip_prefix("nginx_ingress_controller_")
                .is_some_and(|line| line.starts_with(name))
                && labels.iter().all(|label| line.contains(label))
                && line.ends_with(end)
        });
        found.then_some(())
    };
    wait::until(&format!("the metric {name} {labels:?} {end}"), probe)
        .await
        .map(drop)
}

async fn certificate(cluster: &Cluster, name: &str) -> Result<()> {
    let pair = Authorities::server(&[HOST.to_owned()])?;
    let metadata = json!({ "namespace": cluster.namespace(), "name": name });
    let data = json!({ "tls.crt": pair.certificate, "tls.key": pair.key });
    cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata,
            "stringData": data,
        }))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn leadership_metric_tells_leader_from_follower() -> Result<()> {
    on_each_apiserver(async |cluster| {
        apply_web_ingress(cluster, "web", "web.test").await?;
        let start = async |pod: &str| {
            let options = Options::in_cluster(cluster).environment("POD_NAME", pod);
            options
                .arguments(flags(["--election-id=edge"]))
                .without_data_plane()
                .start()
                .await
        };
        let first = start("sluice-0").await?;
        let name = "leader_election_status{";
        wait_for_metric(
            &first,
            name,
            &["name=\"edge\"", "controller_pod=\"sluice-0\""],
            " 1",
        )
        .await?;
        let second = start("sluice-1").await?;
        wait_for_metric(&second, name, &["name=\"edge\""], " 0").await?;
        first.stop()?;
        wait_for_metric(&second, name, &["name=\"edge\""], " 1").await?;
        second.stop()
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_expiry_metrics_follow_their_hosts() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let _pods = web(cluster).await?;
        certificate(cluster, "own").await?;
        let mut ingress = web_ingress(cluster, "web", HOST).to_json();
        ingress["spec"]["tls"] = json!([{ "hosts": [HOST], "secretName": "own" }]);
        cluster.apply(&ingress).await?;
        let sluice = Options::in_cluster(cluster)
            .without_data_plane()
            .start()
            .await?;
        let namespace = format!("namespace=\"{}\"", cluster.namespace());
        let labels = ["host=\"secure.test\"", "secret_name=\"own\"", &namespace];
        wait_for_metric(&sluice, "ssl_expire_time_seconds{", &labels, "").await?;
        wait_for_metric(&sluice, "ssl_certificate_info{", &labels, " 1").await?;
        cluster
            .apply(&web_ingress(cluster, "web", HOST).to_json())
            .await?;
        let gone = async || {
            let page = http::get(sluice.health(), "metrics", "/metrics")
                .await
                .ok()?
                .text();
            (!page.contains("ssl_expire_time_seconds{")).then_some(())
        };
        wait::until("the certificate to be shown no more", gone).await?;
        sluice.stop()
    })
    .await
}
