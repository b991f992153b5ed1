//! The demo in a cluster.

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::each_apiserver::on_each_apiserver;

#[tokio::test(flavor = "multi_thread")]
async fn demo_uses_its_own_namespace_and_cleans_up() -> Result<()> {
    on_each_apiserver(async |cluster| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-demo"));
        command
            .args(["--check", "--source", "kube"])
            .env("KUBECONFIG", cluster.kubeconfig());
        let output = command.output().await?;
        let text = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        ensure!(output.status.success(), "{}: {text}", output.status);
        ensure!(
            text.contains("traffic followed") && text.contains("0 of "),
            "{text}"
        );

        let (_, after) = text
            .split_once("EndpointSlices of ")
            .with_context(|| text.clone())?;
        let namespace = after.split('/').next().unwrap_or_default();
        ensure!(namespace.starts_with("sluice-demo-"), "{text}");
        let left = cluster.get("v1", "Namespace", namespace).await?;
        let is_going = |left: &serde_json::Value| left["metadata"]["deletionTimestamp"].is_string();
        ensure!(left.as_ref().is_none_or(is_going), "left behind: {left:?}");
        let class = cluster
            .get("networking.k8s.io/v1", "IngressClass", namespace)
            .await?;
        ensure!(class.is_none(), "left behind: {class:?}");
        Ok(())
    })
    .await
}
