//! A cluster as a test sees it: objects in, objects out, and pods that really answer.
//!
//! Whatever is behind it, a test has a namespace and an IngressClass of its own, so that nothing else matters.

mod jobs;
mod objects;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fake::Fake;
use super::gate::Gate;
use super::kinds;
use super::upstream::Upstream;
use crate::http::{self, Request, Response};
use crate::ports::{Network, Port};
use crate::wait;

/// Label of a test's objects that have no namespace.
const LABEL: &str = "sluice-test";

/// The kinds of which a test has objects without a namespace.
const OWN: [(&str, &str); 3] = [
    ("v1", "Namespace"),
    ("networking.k8s.io/v1", "IngressClass"),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
    ),
];

/// An API server, a namespace in it, and pods.
pub struct Cluster {
    upstream: Upstream,
    gate: Gate,
    namespace: String,
    folder: TempDir,
    network: Network,
    ports: Vec<Port>,
}

impl Cluster {
    /// In front of the fake.
    pub async fn fake() -> Result<Cluster> {
        Cluster::new(Upstream::Fake(Fake::start().await?), "sluice-test").await
    }

    /// In front of the API server that `KUBECONFIG` names; `None` when it names none. Names in it begin with `prefix`.
    pub async fn real(prefix: &str) -> Result<Option<Cluster>> {
        let Some(upstream) = Upstream::of_kubeconfig().await? else {
            return Ok(None);
        };
        Cluster::new(upstream, prefix).await.map(Some)
    }

    async fn new(upstream: Upstream, prefix: &str) -> Result<Cluster> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let cluster = Cluster {
            gate: Gate::start(upstream.addr()).await?,
            upstream,
            namespace: format!("{prefix}-{}-{number}", std::process::id()),
            folder: tempfile::Builder::new()
                .prefix("sluice-cluster-")
                .tempdir()?,
            network: Network::reserve()?,
            ports: (0..4).map(|_| Port::reserve()).collect::<Result<_>>()?,
        };
        fs::write(cluster.kubeconfig(), cluster.kubeconfig_text())?;
        cluster.add_namespace("", json!({})).await?;
        cluster.ingress_class(&cluster.namespace).await?;
        Ok(cluster)
    }

    /// The kind of API server, for the output of a test.
    pub fn described(&self) -> String {
        self.upstream.to_string()
    }

    /// The fake, when it is one: for what a real API server does not let happen.
    pub fn as_fake(&self) -> Option<&Fake> {
        match &self.upstream {
            Upstream::Fake(fake) => Some(fake),
            Upstream::Real { .. } => None,
        }
    }

    /// The door that the controller goes through.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The namespace of this test; its IngressClass has the same name.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The file that leads to the gate.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// `spec.controller` of the IngressClass.
    pub fn controller_class(&self) -> String {
        format!("example.org/{}", self.namespace)
    }

    /// The arguments of a controller that follows this cluster, whose pods are processes of this machine.
    pub fn access(&self) -> Vec<String> {
        let kubeconfig = self.kubeconfig().display().to_string();
        let pods = ["--allow-upstream-cidr", "127.0.0.0/8"];
        ["--source", "kube", "--kubeconfig", &kubeconfig]
            .into_iter()
            .chain(pods)
            .map(str::to_owned)
            .collect()
    }

    /// The arguments of a controller that serves this test and nothing else.
    pub fn arguments(&self) -> Vec<String> {
        let class = ["--controller-class".to_owned(), self.controller_class()];
        self.access().into_iter().chain(class).collect()
    }

    /// Creates an object, or replaces the one of its name; past the gate.
    pub async fn apply(&self, object: &Value) -> Result<()> {
        let path = path_of(object)?;
        if self.ask("GET", &path, None).await?.status == 404 {
            let created = self.ask("POST", &parent(&path), Some(object)).await?;
            ensure!(
                (200..300).contains(&created.status),
                "create {path}: {}",
                created.text()
            );
            return Ok(());
        }
        let replaced = self.replace(&path, object.clone()).await?;
        ensure!(
            replaced.status == 200,
            "replace {path}: {}",
            replaced.text()
        );
        Ok(())
    }

    /// Replaces the object as it is now: some kinds want to be told which version is replaced.
    async fn replace(&self, path: &str, mut object: Value) -> Result<Response> {
        loop {
            let known = self.ask("GET", path, None).await?.json()?;
            object["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"].clone();
            let replaced = self.ask("PUT", path, Some(&object)).await?;
            // The controller writes too, and a version lasts no longer than until somebody does.
            if replaced.status != 409 {
                return Ok(replaced);
            }
        }
    }

    /// Writes the status of an object.
    pub async fn apply_status(&self, object: &Value) -> Result<()> {
        let path = format!("{}/status", path_of(object)?);
        let replaced = self.ask("PUT", &path, Some(object)).await?;
        ensure!(replaced.status == 200, "{path}: {}", replaced.text());
        Ok(())
    }

    /// Deletes an object at once: of a Pod, a real API server would wait for the kubelet of a node that does not exist.
    pub async fn delete(&self, api_version: &str, kind: &str, name: &str) -> Result<()> {
        let path = format!(
            "{}?gracePeriodSeconds=0",
            self.path(api_version, kind, name)?
        );
        let deleted = self.ask("DELETE", &path, None).await?;
        ensure!(
            matches!(deleted.status, 200 | 202),
            "delete {path}: {}",
            deleted.text()
        );
        Ok(())
    }

    /// Takes everything away that this put into the cluster.
    pub async fn remove(&self) -> Result<()> {
        for (api_version, kind) in OWN {
            for object in self.list(api_version, kind).await? {
                if object["metadata"]["labels"][LABEL] == self.namespace.as_str() {
                    self.delete(
                        api_version,
                        kind,
                        object["metadata"]["name"].as_str().unwrap_or_default(),
                    )
                    .await?;
                }
            }
        }
        Ok(())
    }

    /// Reads an object of this test's namespace; `None` when there is none.
    pub async fn get(&self, api_version: &str, kind: &str, name: &str) -> Result<Option<Value>> {
        self.object(api_version, kind, &self.namespace, name).await
    }

    /// Reads an object of any namespace; `None` when there is none.
    pub async fn object(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>> {
        let kind =
            kinds::by_name(api_version, kind).with_context(|| format!("{api_version} {kind}"))?;
        let path = kind.path(namespace, name);
        let answer = self.ask("GET", &path, None).await?;
        if answer.status == 404 {
            return Ok(None);
        }
        ensure!(answer.status == 200, "{path}: {}", answer.text());
        answer.json().map(Some)
    }

    /// The objects of a kind in this test's namespace.
    pub async fn list(&self, api_version: &str, kind: &str) -> Result<Vec<Value>> {
        let path = self.path(api_version, kind, "")?;
        let answer = self.ask("GET", &path, None).await?;
        ensure!(answer.status == 200, "{path}: {}", answer.text());
        Ok(answer.json()?["items"]
            .as_array()
            .cloned()
            .unwrap_or_default())
    }

    /// Waits until an object is as it should be.
    pub async fn wait_for(
        &self,
        (api_version, kind, name): (&str, &str, &str),
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let probe = async || {
            self.get(api_version, kind, name)
                .await
                .ok()
                .flatten()
                .filter(|value| holds(value))
        };
        match wait::until(&format!("{kind} {name}: {what}"), probe).await {
            Ok((value, _)) => Ok(value),
            Err(error) => {
                Err(error.context(format!("{:?}", self.get(api_version, kind, name).await)))
            }
        }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Response> {
        let request =
            Request::new(method, "localhost", path).header("content-type", "application/json");
        http::send(
            self.upstream.addr(),
            &request.body(body.map(Value::to_string).unwrap_or_default()),
        )
        .await
    }

    fn path(&self, api_version: &str, kind: &str, name: &str) -> Result<String> {
        let kind =
            kinds::by_name(api_version, kind).with_context(|| format!("{api_version} {kind}"))?;
        Ok(kind.path(&self.namespace, name))
    }

    fn kubeconfig_text(&self) -> String {
        let name = "sluice-test";
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": format!("http://{}", self.gate.addr())}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": self.namespace}}],
            "users": [{"name": name, "user": {}}],
        })
        .to_string()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A fake is gone by itself. A real cluster gets its own back, as well as a destructor can.
        if let Upstream::Real { .. } = &self.upstream {
            let label = format!("{LABEL}={}", self.namespace);
            let mut command = Command::new("kubectl");
            let kinds = OWN.map(|(_, kind)| kind.to_lowercase()).join(",");
            let _ = command
                .args(["delete", "--wait=false", &kinds, "-l", &label])
                .output();
        }
    }
}

fn path_of(object: &Value) -> Result<String> {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = kinds::by_name(text("/apiVersion"), text("/kind"))
        .context("a kind that the tests do not know")?;
    Ok(kind.path(text("/metadata/namespace"), text("/metadata/name")))
}

fn parent(path: &str) -> String {
    path.rsplit_once('/')
        .map_or("", |(parent, _)| parent)
        .to_owned()
}
