//! An installation as the chart makes it: a controller with its own Envoy, and the objects around both. What only a kubelet would write is
//! written by hand.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::apiserver::containers::Container;
use crate::apiserver::{Cluster, Fake};
use crate::artifacts;
use crate::sluice::Sluice;

/// Label of the pods of a part.
pub const LABEL: &str = "app.kubernetes.io/component";
/// Parts with pods.
const PARTS: [&str; 2] = ["controller", "data-plane"];

/// A fake cluster with an installation in it.
pub struct Installation {
    /// The cluster.
    pub cluster: Cluster,
    /// The one controller, which has one Envoy.
    pub controller: Sluice,
}

impl Installation {
    /// The controller runs already; `class` is that of its `--controller-class`.
    pub async fn new(cluster: Cluster, controller: Sluice, class: &str) -> Result<Installation> {
        let installation = Installation {
            cluster,
            controller,
        };
        for part in PARTS {
            installation.pod(part, class).await?;
            let ready = json!({ "type": "Ready", "status": "True" });
            let status = json!({ "phase": "Running", "conditions": [ready] });
            installation.status(part, status).await?;
        }
        let cluster = &installation.cluster;
        let secrets = ["xds", "xds-data-plane"];
        cluster.certgen_xds("sluice.example", secrets).await?;
        installation.webhook().await?;
        let container = Container {
            page: Some(installation.controller.health()),
            ..Container::default()
        };
        installation.contain("controller", container)?;
        Ok(installation)
    }

    /// The API server.
    pub fn fake(&self) -> Result<&Fake> {
        self.cluster.as_fake().context("the fake")
    }

    /// Gives the pod of a part its container.
    pub fn contain(&self, part: &str, container: Container) -> Result<()> {
        let pod = format!("{}/{part}-0", self.cluster.namespace());
        self.fake()?.contain(&pod, container);
        Ok(())
    }

    /// As the chart writes it.
    async fn pod(&self, part: &str, class: &str) -> Result<()> {
        let class = format!("--controller-class={class}");
        let folder = "/etc/sluice/admission";
        let certificate = format!("--validating-webhook-certificate={folder}/tls.crt");
        let arguments = [
            "run",
            "--source=kube",
            "--allow-upstream-cidr=127.0.0.0/8",
            "--data-plane=none",
            "--validating-webhook=:8443",
            &class,
            &certificate,
        ];
        let volumes = ["xds", "admission"]
            .map(|name| json!({ "name": name, "secret": { "secretName": name } }));
        let mounts = [json!({ "name": "admission", "mountPath": folder })];
        let container =
            json!({ "name": part, "image": "i", "args": arguments, "volumeMounts": mounts });
        self.cluster
            .apply(&json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {
                    "namespace": self.cluster.namespace(), "name": format!("{part}-0"),
                    "labels": { "app.kubernetes.io/name": "sluice", LABEL: part },
                },
                "spec": { "serviceAccountName": "sluice", "volumes": volumes, "containers": [container] },
            }))
            .await
    }

    /// Writes the status of a part's pod, as a kubelet does.
    pub async fn status(&self, part: &str, status: Value) -> Result<()> {
        let metadata =
            json!({ "namespace": self.cluster.namespace(), "name": format!("{part}-0") });
        let pod =
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status });
        self.cluster.apply_status(&pod).await
    }

    /// Service, webhook configuration, and the certificate that certgen makes for both.
    async fn webhook(&self) -> Result<()> {
        let namespace = self.cluster.namespace();
        self.cluster
            .apply(&json!({
                "apiVersion": "v1", "kind": "Service", "metadata": { "namespace": namespace, "name": "hook" },
                "spec": { "selector": { LABEL: "controller" }, "ports": [{ "port": 443 }] },
            }))
            .await?;
        let service = json!({ "namespace": namespace, "name": "hook" });
        let rules = [json!({ "apiGroups": ["networking.k8s.io"], "resources": ["ingresses"] })];
        self.cluster
            .apply(&json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": self.cluster.own("ours"),
                "webhooks": [{
                    "name": "validate.sluice.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                    "failurePolicy": "Fail", "clientConfig": { "service": service }, "rules": rules,
                }],
            }))
            .await?;
        let host = format!("hook.{namespace}.svc");
        let mut command = Command::new(artifacts::sluice()?);
        command.args(["certgen", "create"]);
        command.args(["--cert-name", "tls.crt", "--key-name", "tls.key"]);
        command.args(["--namespace", namespace, "--secret-name", "admission"]);
        command.args(["--webhook-name", "ours", "--host", &host]);
        command.arg("--kubeconfig").arg(self.cluster.kubeconfig());
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let done = tokio::task::spawn_blocking(move || child.wait_with_output()).await??;
        ensure!(done.status.success(), "{done:?}");
        Ok(())
    }
}
