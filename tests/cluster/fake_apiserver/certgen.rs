//! `sluice certgen` as the job of the chart runs it, and again at the next upgrade.

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::artifacts;

use crate::each_apiserver::on_each_apiserver;

const REGISTRATION: &str = "admissionregistration.k8s.io/v1";
const WEBHOOKS: &str = "ValidatingWebhookConfiguration";

/// One that matches nothing, so that a real API server asks nobody.
fn webhooks(cluster: &Cluster, name: &str) -> Value {
    let service = json!({"name": "sluice-admission", "namespace": "default"});
    json!({
        "apiVersion": REGISTRATION, "kind": WEBHOOKS, "metadata": cluster.own(name),
        "webhooks": [{
            "name": "validate.sluice.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "clientConfig": {"service": service}, "rules": [],
        }],
    })
}

async fn certgen(cluster: &Cluster, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(artifacts::sluice()?);
    command
        .arg("certgen")
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .args(arguments);
    command.args([
        "--namespace",
        cluster.namespace(),
        "--secret-name",
        "admission",
    ]);
    Ok(tokio::task::spawn_blocking(move || command.output()).await??)
}

async fn certgen_succeeds(cluster: &Cluster, arguments: &[&str]) -> Result<()> {
    let done = certgen(cluster, arguments).await?;
    ensure!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(())
}

/// The authority that the API server trusts, and the one in the Secret.
async fn authorities(cluster: &Cluster, name: &str) -> Result<(Value, Value)> {
    let trusted = cluster
        .get(REGISTRATION, WEBHOOKS, name)
        .await?
        .context("webhooks")?;
    let secret = cluster
        .get("v1", "Secret", "admission")
        .await?
        .context("Secret")?;
    Ok((
        trusted["webhooks"][0]["clientConfig"]["caBundle"].clone(),
        secret["data"]["ca"].clone(),
    ))
}

#[tokio::test(flavor = "multi_thread")]
async fn certgen_creates_the_certificate_once() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let name = format!("{}-admission", cluster.namespace());
        cluster.apply(&webhooks(cluster, &name)).await?;
        let create = [
            "create",
            "--host",
            "sluice-admission.default.svc",
            "--webhook-name",
            &name,
        ];
        certgen_succeeds(cluster, &create).await?;
        let (trusted, first) = authorities(cluster, &name).await?;
        ensure!(
            !first.is_null() && trusted == first,
            "{trusted} is not {first}"
        );
        // What somebody else wrote over it is set right, with the same certificate.
        cluster.apply(&webhooks(cluster, &name)).await?;
        certgen_succeeds(
            cluster,
            &[
                "patch",
                "--webhook-name",
                &name,
                "--patch-failure-policy",
                "Fail",
            ],
        )
        .await?;
        certgen_succeeds(cluster, &create).await?;
        let (trusted, second) = authorities(cluster, &name).await?;
        ensure!(second == first && trusted == first, "another certificate");
        let patched = cluster
            .get(REGISTRATION, WEBHOOKS, &name)
            .await?
            .context("webhooks")?;
        ensure!(
            patched["webhooks"][0]["failurePolicy"] == "Fail",
            "{patched:#}"
        );
        cluster.delete(REGISTRATION, WEBHOOKS, &name).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn patching_a_missing_webhook_fails_and_names_it() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let done = certgen(cluster, &["patch", "--webhook-name", "nowhere"]).await?;
        let said = String::from_utf8_lossy(&done.stderr);
        let expected = format!("Secret {}/admission: not found", cluster.namespace());
        ensure!(!done.status.success() && said.contains(&expected), "{said}");
        Ok(())
    })
    .await
}
