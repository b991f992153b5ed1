//! The plugin of kubectl, by a real kubectl, a fake API server whose pods are processes of this machine, and a controller that is real.

use std::env;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::apiserver::Cluster;
use sluice_tests::apiserver::containers::Container;
use sluice_tests::artifacts;
use sluice_tests::sluice::{Options, Sluice};
use tempfile::TempDir;

use crate::setup::{apply_web_ingress, web, web_ingress};

struct Plugged {
    cluster: Cluster,
    controller: Sluice,
    /// With kubectl and kubectl-sluice in it, and as the `bin` of containers with sluice.
    programs: TempDir,
}

impl Plugged {
    async fn start() -> Result<Plugged> {
        let programs = tempfile::tempdir()?;
        for (name, program) in [
            ("kubectl", artifacts::kubectl()?),
            ("kubectl-sluice", artifacts::sluice()?),
            ("sluice", artifacts::sluice()?),
        ] {
            symlink(program.canonicalize()?, programs.path().join(name))?;
        }
        let cluster = Cluster::fake().await?;
        let _pods = web(&cluster).await?;
        apply_web_ingress(&cluster, "web", "web.test").await?;
        let odd = web_ingress(&cluster, "odd", "odd.test").annotation("proxy-read-timeout", "soon");
        cluster.apply(&odd.to_json()).await?;
        let controller = Options::in_cluster(&cluster)
            .without_data_plane()
            .start()
            .await?;
        controller.log().wait_for("published").await?;
        let plugged = Plugged {
            cluster,
            controller,
            programs,
        };
        plugged.pod("controller", "controller-0", "False").await?;
        plugged.pod("controller", "controller-1", "True").await?;
        plugged.pod("data-plane", "data-plane-0", "True").await?;
        Ok(plugged)
    }

    /// Its commands meet the controller; only its log says which pod it is.
    async fn pod(&self, component: &str, name: &str, ready: &str) -> Result<()> {
        let namespace = self.cluster.namespace();
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": namespace, "name": name,
                "labels": { "app.kubernetes.io/name": "sluice", "app.kubernetes.io/component": component },
            },
            "spec": { "containers": [{ "name": "sidecar", "image": "i" }, { "name": component, "image": "i" }] },
        });
        self.cluster.apply(&pod).await?;
        let conditions = [json!({ "type": "Ready", "status": ready })];
        pod["status"] = json!({ "phase": "Running", "conditions": conditions });
        self.cluster.apply_status(&pod).await?;
        let variable = |name: &str, path: PathBuf| (name.to_owned(), path.display().to_string());
        let container = Container {
            environment: vec![
                variable("PATH", self.programs.path().to_owned()),
                variable("SLUICE_ADMIN_SOCKET", self.controller.admin_socket()),
            ],
            log: format!("log of {name}\n"),
            page: None,
        };
        let fake = self.cluster.as_fake().context("the fake")?;
        fake.contain(&format!("{namespace}/{name}"), container);
        Ok(())
    }

    /// `kubectl sluice`, straight at the fake: the gate passes no change of protocols on.
    async fn plugin(&self, words: &[&str]) -> Result<Output> {
        let server = self.cluster.as_fake().context("the fake")?.addr();
        let kubeconfig = self.programs.path().join("config");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": { "server": format!("http://{server}") } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }],
            "users": [{ "name": "c", "user": {} }],
        });
        std::fs::write(&kubeconfig, config.to_string())?;
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&path);
        let path =
            env::join_paths(std::iter::once(self.programs.path().to_owned()).chain(folders))?;
        let mut command = Command::new(self.programs.path().join("kubectl"));
        command.arg("sluice").args(words);
        command.env("PATH", path).env("HOME", self.programs.path());
        let child = command
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("kubectl")?;
        Ok(tokio::task::spawn_blocking(move || child.wait_with_output()).await??)
    }

    async fn says(&self, words: &[&str]) -> Result<String> {
        let done = self.plugin(words).await?;
        ensure!(done.status.success(), "{words:?}: {done:?}");
        Ok(String::from_utf8(done.stdout)?)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_sluice_inspects_the_controller_of_a_fake_cluster() -> Result<()> {
    let plugged = Plugged::start().await?;
    let namespace = plugged.cluster.namespace();
    let backend = format!("{namespace}-web-80");
    for words in [&["backends", "--list"][..], &["dbg", "backends", "list"]] {
        let said = plugged.says(words).await?;
        ensure!(
            said.lines().any(|line| line == backend),
            "{words:?}: {said}"
        );
    }
    let one = plugged
        .says(&["backends", "--backend", &backend, "-n", namespace])
        .await?;
    ensure!(
        serde_json::from_str::<Value>(&one)?["name"] == backend.as_str(),
        "{one}"
    );
    let chain = plugged.says(&["certs", "--host", "_"]).await?;
    ensure!(chain.starts_with("-----BEGIN CERTIFICATE"), "{chain}");
    for words in [
        &["conf", "--host", "web.test"][..],
        &["dbg", "conf", "--host=web.test"],
    ] {
        let conf: Value = serde_json::from_str(&plugged.says(words).await?)?;
        ensure!(conf["server"]["routes"].is_array(), "{conf}");
    }
    let reports = plugged.says(&["dbg", "reports"]).await?;
    let expected = format!("Ingress {namespace}/odd: annotation proxy-read-timeout: ");
    ensure!(reports.contains(&expected), "{reports}");
    for words in [&["ingresses"][..], &["ingress"], &["dbg", "ingresses"]] {
        let table = plugged.says(words).await?;
        let words: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let row = [
            namespace,
            "web",
            "web.test/",
            "no",
            "forward",
            "web:80",
            "1",
        ];
        ensure!(words.contains(&row.to_vec()), "{table}");
    }
    let general = plugged.says(&["general"]).await?;
    ensure!(general.trim() == "{}", "{general}");
    plugged.controller.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_sluice_finds_pods_of_a_fake_cluster_by_itself_or_as_told() -> Result<()> {
    let plugged = Plugged::start().await?;
    let namespace = plugged.cluster.namespace();
    for (words, pod) in [
        (&["logs"][..], "controller-1"),
        (&["logs", "--data-plane", "--tail", "5"], "data-plane-0"),
        (
            &["logs", "--pod", "controller-0", "-n", namespace],
            "controller-0",
        ),
        (&["logs", "-l", "app.kubernetes.io/name"], "controller-1"),
    ] {
        let said = plugged.says(words).await?;
        ensure!(said == format!("log of {pod}\n"), "{words:?}: {said}");
    }
    let said = plugged
        .says(&["exec", "--", "sluice", "certgen", "version"])
        .await?;
    ensure!(said.starts_with("sluice "), "{said}");
    // The exit code is that of the command, in the pod and here.
    let failed = plugged
        .plugin(&["exec", "--", "sluice", "no-such-command"])
        .await?;
    ensure!(failed.status.code() == Some(2), "{failed:?}");
    let failed = plugged
        .plugin(&["backends", "--backend", "nowhere"])
        .await?;
    let stderr = String::from_utf8_lossy(&failed.stderr);
    ensure!(
        !failed.status.success() && stderr.contains("no backend \"nowhere\""),
        "{stderr}"
    );
    let ssh = plugged.plugin(&["ssh"]).await?;
    let stderr = String::from_utf8_lossy(&ssh.stderr);
    let expected = format!("kubectl --namespace {namespace} debug -it pod/controller-1");
    ensure!(
        stderr.contains(&expected) && stderr.contains("--target controller"),
        "{stderr}"
    );
    let none = plugged.plugin(&["logs", "-l", "app=nothing"]).await?;
    let stderr = String::from_utf8_lossy(&none.stderr);
    ensure!(
        !none.status.success() && stderr.contains("--namespace, --selector and --pod"),
        "{stderr}"
    );
    plugged.controller.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_sluice_checks_a_fake_cluster_and_its_ingresses() -> Result<()> {
    let plugged = Plugged::start().await?;
    let lint = plugged.plugin(&["lint", "--output", "json"]).await?;
    ensure!(
        serde_json::from_slice::<Value>(&lint.stdout)?["ingresses"].is_array(),
        "{lint:?}"
    );
    let class = plugged.cluster.controller_class();
    let words = ["explain", "http://web.test/", "--controller-class", &class];
    let explained = plugged.says(&words).await?;
    ensure!(explained.contains("Service"), "{explained}");
    let checked = plugged.plugin(&["check"]).await?;
    let text = String::from_utf8_lossy(&checked.stdout);
    ensure!(text.contains("kubernetes-api\n"), "{checked:?}");
    plugged.controller.stop()
}
