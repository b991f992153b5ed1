//! A folder of manifests, as `sluice run --manifests` watches it.
//!
//! The documents are written as JSON, which is YAML, so nothing needs quoting rules. Every write is a rename from
//! outside the folder: the controller never sees half a file, as with `kubectl` or a ConfigMap volume.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// The class that ingress-nginx's users have.
pub const CLASS: &str = "nginx";

/// A temporary folder of manifests; gone when dropped.
#[derive(Debug)]
pub struct Manifests {
    _root: TempDir,
    dir: PathBuf,
    staging: PathBuf,
}

impl Manifests {
    /// A folder with nothing but the IngressClass `nginx`.
    pub fn new() -> Result<Manifests> {
        let manifests = Manifests::folder()?;
        manifests.ingress_class(CLASS, "k8s.io/ingress-nginx")?;
        Ok(manifests)
    }

    /// A folder with a copy of all files of another.
    pub fn copy_of(folder: &Path) -> Result<Manifests> {
        let manifests = Manifests::folder()?;
        for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
            let entry = entry?;
            fs::copy(entry.path(), manifests.dir.join(entry.file_name()))?;
        }
        Ok(manifests)
    }

    /// A folder with nothing at all.
    pub fn folder() -> Result<Manifests> {
        let root = tempfile::Builder::new()
            .prefix("sluice-manifests-")
            .tempdir()?;
        let (dir, staging) = (root.path().join("manifests"), root.path().join("staging"));
        fs::create_dir(&dir)?;
        fs::create_dir(&staging)?;
        Ok(Manifests {
            _root: root,
            dir,
            staging,
        })
    }

    /// The folder to watch.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes a file, whole or not at all.
    pub fn write(&self, file: &str, text: &str) -> Result<()> {
        let staged = self.staging.join(file);
        fs::write(&staged, text)?;
        fs::rename(&staged, self.dir.join(file)).with_context(|| format!("write {file}"))
    }

    /// Removes a file.
    pub fn remove(&self, file: &str) -> Result<()> {
        fs::remove_file(self.dir.join(file)).with_context(|| format!("remove {file}"))
    }

    /// Writes one object as `kind-namespace-name.yaml`.
    pub fn object(&self, object: &Value) -> Result<()> {
        self.write(&file_of(object), &serde_json::to_string_pretty(object)?)
    }

    /// Removes the file of an object.
    pub fn remove_object(&self, object: &Value) -> Result<()> {
        self.remove(&file_of(object))
    }

    /// Writes an IngressClass.
    pub fn ingress_class(&self, name: &str, controller: &str) -> Result<()> {
        self.object(&json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IngressClass",
            "metadata": { "name": name },
            "spec": { "controller": controller },
        }))
    }

    /// Writes a Service and its EndpointSlice. All pods listen on the port of the first.
    pub fn service(
        &self,
        namespace: &str,
        name: &str,
        port: u16,
        pods: &[SocketAddr],
    ) -> Result<()> {
        self.object(&service(namespace, name, port, pods))?;
        self.endpoints(namespace, name, pods)
    }

    /// Writes the EndpointSlice of a Service.
    pub fn endpoints(&self, namespace: &str, service: &str, pods: &[SocketAddr]) -> Result<()> {
        self.object(&endpoint_slice(namespace, service, pods))
    }

    /// The same with some pods that terminate and still serve.
    pub fn draining(
        &self,
        namespace: &str,
        service: &str,
        pods: &[SocketAddr],
        leaving: &[SocketAddr],
    ) -> Result<()> {
        let mut slice = endpoint_slice(namespace, service, &[pods, leaving].concat());
        for endpoint in slice["endpoints"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .skip(pods.len())
        {
            endpoint["conditions"] =
                json!({ "ready": false, "serving": true, "terminating": true });
        }
        self.object(&slice)
    }

    /// Writes an Ingress.
    pub fn ingress(&self, ingress: &Ingress) -> Result<()> {
        self.object(&ingress.to_json())
    }
}

/// A Service. All pods listen on the port of the first.
pub fn service(namespace: &str, name: &str, port: u16, pods: &[SocketAddr]) -> Value {
    let target = pods.first().map_or(port, SocketAddr::port);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "namespace": namespace, "name": name },
        "spec": { "ports": [{ "name": "http", "port": port, "targetPort": target }] },
    })
}

/// The EndpointSlice of a Service. All pods listen on the port of the first.
pub fn endpoint_slice(namespace: &str, service: &str, pods: &[SocketAddr]) -> Value {
    let port = pods.first().map_or(80, SocketAddr::port);
    let is_ipv6 = pods.first().is_some_and(SocketAddr::is_ipv6);
    let endpoint =
        |pod: &SocketAddr| json!({ "addresses": [pod.ip()], "conditions": { "ready": true } });
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "namespace": namespace,
            "name": service,
            "labels": { "kubernetes.io/service-name": service },
        },
        "addressType": if is_ipv6 { "IPv6" } else { "IPv4" },
        "ports": [{ "name": "http", "port": port, "protocol": "TCP" }],
        "endpoints": pods.iter().map(endpoint).collect::<Vec<_>>(),
    })
}

fn file_of(object: &Value) -> String {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("cluster")
            .to_owned()
    };
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    format!("{}-{namespace}-{name}.yaml", text("/kind").to_lowercase())
}

/// An Ingress of the class `nginx`.
#[derive(Clone, Debug)]
pub struct Ingress {
    namespace: String,
    name: String,
    class: String,
    annotations: Map<String, Value>,
    rules: Vec<(String, Vec<Value>)>,
    default_backend: Option<Value>,
}

impl Ingress {
    /// An Ingress without rules.
    pub fn new(namespace: &str, name: &str) -> Ingress {
        Ingress {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            class: CLASS.to_owned(),
            annotations: Map::new(),
            rules: Vec::new(),
            default_backend: None,
        }
    }

    /// Another class.
    #[must_use]
    pub fn class(mut self, class: &str) -> Ingress {
        self.class = class.to_owned();
        self
    }

    /// An annotation of `nginx.ingress.kubernetes.io/`, or one with another prefix.
    #[must_use]
    pub fn annotation(mut self, name: &str, value: &str) -> Ingress {
        let name = if name.contains('/') {
            name.to_owned()
        } else {
            format!("nginx.ingress.kubernetes.io/{name}")
        };
        self.annotations.insert(name, value.into());
        self
    }

    /// Starts a rule; the paths that follow belong to it.
    #[must_use]
    pub fn host(mut self, host: &str) -> Ingress {
        self.rules.push((host.to_owned(), Vec::new()));
        self
    }

    /// A Prefix path of the last rule.
    #[must_use]
    pub fn path(self, path: &str, service: &str, port: u16) -> Ingress {
        self.typed_path("Prefix", path, service, port)
    }

    /// A path of the last rule, or of a rule for all hosts when there is none.
    #[must_use]
    pub fn typed_path(mut self, path_type: &str, path: &str, service: &str, port: u16) -> Ingress {
        let path =
            json!({ "path": path, "pathType": path_type, "backend": backend(service, port) });
        match self.rules.last_mut() {
            Some((_, paths)) => paths.push(path),
            None => self.rules.push((String::new(), vec![path])),
        }
        self
    }

    /// The backend of everything that no rule names.
    #[must_use]
    pub fn default_backend(mut self, service: &str, port: u16) -> Ingress {
        self.default_backend = Some(backend(service, port));
        self
    }

    /// The object.
    pub fn to_json(&self) -> Value {
        let rules = self.rules.iter().map(|(host, paths)| {
            let mut rule = json!({ "http": { "paths": paths } });
            if !host.is_empty() {
                rule["host"] = host.as_str().into();
            }
            rule
        });
        let mut spec =
            json!({ "ingressClassName": self.class, "rules": rules.collect::<Vec<_>>() });
        if let Some(backend) = &self.default_backend {
            spec["defaultBackend"] = backend.clone();
        }
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {
                "namespace": self.namespace,
                "name": self.name,
                "annotations": self.annotations,
            },
            "spec": spec,
        })
    }
}

fn backend(service: &str, port: u16) -> Value {
    json!({ "service": { "name": service, "port": { "number": port } } })
}
