//! `sluice check` of a fake API server, with a controller, an Envoy and certificates of `sluice certgen` that are real. What only a
//! kubelet would write is written by hand.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::artifacts;
use sluice_tests::cases::ingress::certificates::Authorities;
use sluice_tests::installation::Installation;
use sluice_tests::sluice::Options;

use crate::setup::{NETWORKING, apply_web_ingress, web, web_ingress};

async fn installed() -> Result<Installation> {
    let cluster = Cluster::fake().await?;
    let controller = Options::in_cluster(&cluster).start().await?;
    let class = cluster.controller_class();
    Installation::new(cluster, controller, &class).await
}

async fn check(cluster: &Cluster, flags: &[&str]) -> Result<Output> {
    let mut command = Command::new(artifacts::sluice()?);
    command.arg("check").arg("--kubeconfig");
    command.arg(cluster.kubeconfig()).args(flags);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(tokio::task::spawn_blocking(move || child.wait_with_output()).await??)
}

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr];
    both.map(String::from_utf8_lossy).concat()
}

/// Each of these lines, or its beginning, is there.
fn ensure_says(output: &Output, code: i32, lines: &[&str]) -> Result<()> {
    let text = text(output);
    ensure!(
        output.status.code() == Some(code),
        "{}: {text}",
        output.status
    );
    for expected in lines {
        let found = text.lines().any(|line| line.starts_with(expected));
        ensure!(found, "{expected:?} is missing:\n{text}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fake_cluster_with_a_real_controller_is_as_it_should_be() -> Result<()> {
    let installed = installed().await?;
    let cluster = &installed.cluster;
    let _pods = web(cluster).await?;
    apply_web_ingress(cluster, "web", "web.test").await?;
    let namespace = cluster.namespace();
    let done = check(cluster, &["--wait", "10"]).await?;
    let lines = [
        &format!("√ API server http://{} answers", cluster.gate().addr()),
        // Which is true: it is no Kubernetes.
        "‼ expected a version such as v1.33.1 of the API server, got \"v0.0.0-sluice-fake\"",
        &format!("√ system:serviceaccount:{namespace}:sluice may do what the controller does"),
        &format!("√ IngressClass {namespace} is served"),
        "√ ValidatingWebhookConfiguration ours leads to the controller, and the API server trusts it",
        &format!("√ 1 pod of the controller in {namespace}: ready"),
        &format!(
            "√ controller and this program are {}",
            env!("CARGO_PKG_VERSION")
        ),
        "√ one controller is the leader",
        &format!("√ 1 pod of the data plane in {namespace}: ready"),
        "√ 1 data plane connected to a controller",
        "√ Envoy 1.",
        &format!("√ 2 certificates in Secret {namespace}/admission valid"),
        &format!("√ 2 certificates in Secret {namespace}/xds valid"),
        "√ every data plane has accepted the configuration",
        "√ 1 Ingress: 1 works unchanged",
        "1 warning ‼",
    ];
    ensure_says(&done, 0, &lines)?;
    ensure!(!text(&done).contains('\u{1b}'), "{}", text(&done));
    let strict = check(cluster, &["--strict", "--namespace", namespace]).await?;
    ensure_says(&strict, 1, &["1 warning ‼"])?;
    let json = check(cluster, &["--output", "json"]).await?;
    let value: Value = serde_json::from_slice(&json.stdout)?;
    ensure!(value["status"] == "warning", "{value:#}");
    let coloured = check(cluster, &["--color", "always"]).await?;
    ensure!(
        text(&coloured).contains("\u{1b}[32m√"),
        "{}",
        text(&coloured)
    );
    // Nothing was written.
    let writes = ["PUT", "PATCH", "DELETE"].map(|method| cluster.gate().count(method, "/pods"));
    ensure!(writes == [0, 0, 0], "{writes:?}");
    installed.controller.stop()
}

/// Pods that are not ready, a right, a class, a Secret and a Service that are gone, and a certificate that has ended.
async fn break_everything(installed: &Installation) -> Result<()> {
    let cluster = &installed.cluster;
    let namespace = cluster.namespace().to_owned();
    let waiting = json!({ "reason": "\u{1b}[31mImagePull", "message": "\u{202e}a\nb" });
    let container = json!({
        "name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": { "waiting": waiting },
    });
    installed
        .status("controller", json!({ "containerStatuses": [container] }))
        .await?;
    let crashed = json!({ "conditions": [{ "type": "Ready", "status": "False" }] });
    installed.status("data-plane", crashed).await?;
    installed.fake()?.deny("list secrets");
    cluster
        .delete(NETWORKING, "IngressClass", &namespace)
        .await?;
    cluster.delete("v1", "Secret", "xds").await?;
    cluster.delete("v1", "Service", "hook").await?;
    let pair = Authorities::expired("old.test")?;
    cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": { "namespace": namespace, "name": "old" },
            "stringData": { "tls.crt": pair.certificate, "tls.key": pair.key },
        }))
        .await?;
    let mut ingress = web_ingress(cluster, "old", "old.test").to_json();
    ingress["spec"]["tls"] = json!([{ "hosts": ["old.test"], "secretName": "old" }]);
    // Without its class it is served by its annotation.
    if let Some(spec) = ingress["spec"].as_object_mut() {
        spec.remove("ingressClassName");
    }
    ingress["metadata"]["annotations"] = json!({ "kubernetes.io/ingress.class": "nginx" });
    cluster.apply(&ingress).await
}

/// Terminals take some letters for commands, and names, reasons and hosts are somebody else's.
#[tokio::test(flavor = "multi_thread")]
async fn faults_of_a_fake_cluster_are_told_with_advice_and_without_control_characters() -> Result<()>
{
    let installed = installed().await?;
    let cluster = &installed.cluster;
    let namespace = cluster.namespace().to_owned();
    break_everything(&installed).await?;
    let done = check(&installed.cluster, &[]).await?;
    ensure_says(
        &done,
        1,
        &[
            &format!("× system:serviceaccount:{namespace}:sluice may not: list secrets"),
            "    restore the chart's ClusterRoles",
            &format!(
                "× no IngressClass has the controller {}",
                cluster.controller_class()
            ),
            "    create an IngressClass",
            "× no pod of the controller is ready: controller-0 (\\u{1b}[31mImagePull: \\u{202e}a\\nb)",
            &format!("    kubectl -n {namespace} describe pod"),
            "× no pod of the data plane is ready: data-plane-0",
            &format!("× Secret {namespace}/xds is missing, and pods wait for it"),
            "    the log of the certgen Job",
            &format!("× certificate of old.test (Secret {namespace}/old) ended "),
            "    renew the certificate",
            &format!(
                "× ValidatingWebhookConfiguration ours leads to Service {namespace}/hook, which does not exist"
            ),
            "    delete it: kubectl delete validatingwebhookconfiguration ours",
        ],
    )?;
    ensure!(
        !text(&done).contains(['\u{1b}', '\u{202e}']),
        "{}",
        text(&done)
    );
    installed.controller.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_of_a_fake_cluster_waits_for_what_comes() -> Result<()> {
    let installed = installed().await?;
    installed
        .status("controller", json!({ "phase": "Pending" }))
        .await?;
    ensure_says(
        &check(&installed.cluster, &[]).await?,
        1,
        &["× no pod of the controller is ready: controller-0 (Pending)"],
    )?;
    let ready = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ready = json!({ "conditions": [{ "type": "Ready", "status": "True" }] });
        installed.status("controller", ready).await
    };
    let (done, ready) = tokio::join!(check(&installed.cluster, &["--wait", "30"]), ready);
    ready?;
    ensure_says(&done?, 0, &["√ 1 pod of the controller"])?;
    installed.controller.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn before_an_installation_obstacles_in_a_fake_cluster_are_told() -> Result<()> {
    let cluster = Cluster::fake().await?;
    let fine = check(&cluster, &["--pre"]).await?;
    ensure_says(
        &fine,
        0,
        &[
            "√ this account may install the chart",
            "√ no IngressClass is called nginx",
            "√ no other webhook is asked about Ingresses",
        ],
    )?;
    cluster
        .foreign_class("nginx", "other.example/controller")
        .await?;
    cluster
        .as_fake()
        .context("the fake")?
        .deny("create clusterroles");
    let rules = [json!({ "apiGroups": ["networking.k8s.io"], "resources": ["ingresses"] })];
    let service = json!({ "namespace": "ingress-nginx", "name": "gone" });
    cluster
        .apply(&json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": cluster.own("ingress-nginx-admission"),
            "webhooks": [{
                "name": "validate.nginx.ingress.kubernetes.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": { "service": service }, "rules": rules,
            }],
        }))
        .await?;
    let done = check(&cluster, &["--pre"]).await?;
    ensure_says(
        &done,
        1,
        &[
            "× this account may not: create clusterroles.rbac.authorization.k8s.io",
            "× IngressClass nginx is taken by other.example/controller",
            "× ValidatingWebhookConfiguration ingress-nginx-admission leads to Service ingress-nginx/gone",
        ],
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fake_cluster_without_an_installation_or_without_an_api_server_fails() -> Result<()> {
    let cluster = Cluster::fake().await?;
    let nothing = check(&cluster, &[]).await?;
    ensure_says(
        &nothing,
        1,
        &[
            "× no pod of a controller has the labels",
            "    --namespace and --selector",
        ],
    )?;
    cluster.gate().close();
    let gone = check(&cluster, &[]).await?;
    ensure_says(
        &gone,
        1,
        &[
            "× API server http://",
            "    run `kubectl version`",
            "1 failure ×",
        ],
    )?;
    let unknown = check(&cluster, &["--context", "nowhere"]).await?;
    ensure_says(&unknown, 1, &["× "])?;
    ensure!(text(&unknown).contains("nowhere"), "{}", text(&unknown));
    Ok(())
}
