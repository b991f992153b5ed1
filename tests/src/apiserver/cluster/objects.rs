//! Objects of a test in its cluster.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{Cluster, LABEL};
use crate::apiserver::gate::Gate;
use crate::apiserver::upstream::own_address;
use crate::echo::Echo;
use crate::manifests::{Ingress, endpoint_slice};

/// Shorthands for common objects.
impl Cluster {
    /// An IngressClass of our controller.
    pub async fn ingress_class(&self, name: &str) -> Result<()> {
        self.foreign_class(name, &self.controller_class()).await
    }

    /// An IngressClass of this controller.
    pub async fn foreign_class(&self, name: &str, controller: &str) -> Result<()> {
        self.apply(&json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
            "metadata": self.own(name),
            "spec": { "controller": controller },
        }))
        .await
    }

    /// Metadata of an object without a namespace, so that it goes with the test.
    pub fn own(&self, name: &str) -> Value {
        json!({ "name": name, "labels": { LABEL: self.namespace } })
    }

    /// A namespace with these labels; its name is that of this test's with something behind it.
    pub async fn add_namespace(&self, suffix: &str, mut labels: Value) -> Result<String> {
        let name = format!("{}{suffix}", self.namespace);
        labels[LABEL] = self.namespace.as_str().into();
        let metadata = json!({ "name": name, "labels": labels });
        self.apply(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }))
            .await?;
        Ok(name)
    }

    /// Another door to the same API server, for a controller that has faults of its own.
    pub async fn another_gate(&self) -> Result<Gate> {
        Gate::start(self.upstream.addr()).await
    }

    /// Starts pods that Endpoints may name. A real API server does not take loopback addresses.
    pub async fn pods(&self, service: &str, count: u16) -> Result<Vec<Echo>> {
        let addrs: Vec<SocketAddr> = match self.upstream.takes_loopback() {
            true => self.network.pods(count),
            false => {
                let host = own_address()?;
                let ports = self.ports.iter().take(count.into());
                ports
                    .map(|port| SocketAddr::new(host, port.number()))
                    .collect()
            }
        };
        ensure!(
            addrs.len() == usize::from(count),
            "more pods than a real cluster gets here"
        );
        Echo::start_all(service, &addrs).await
    }

    /// A Service on port 80 and its EndpointSlices.
    pub async fn service(&self, name: &str, pods: &[Echo]) -> Result<()> {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "namespace": self.namespace, "name": name },
            "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": 80 }] },
        }))
        .await?;
        self.endpoints(name, &pods.iter().map(Echo::addr).collect::<Vec<_>>())
            .await
    }

    /// The EndpointSlices of a Service: one for each port that its pods have.
    pub async fn endpoints(&self, service: &str, pods: &[SocketAddr]) -> Result<()> {
        let mut by_port: std::collections::BTreeMap<u16, Vec<SocketAddr>> = Default::default();
        for pod in pods {
            by_port.entry(pod.port()).or_default().push(*pod);
        }
        if by_port.is_empty() {
            by_port.insert(80, Vec::new());
        }
        for (number, pods) in by_port.into_values().enumerate() {
            let mut slice = endpoint_slice(&self.namespace, service, &pods);
            slice["metadata"]["name"] = format!("{service}-{number}").into();
            self.apply(&slice).await?;
        }
        Ok(())
    }

    /// An Ingress of our class without rules yet.
    pub fn ingress(&self, name: &str) -> Ingress {
        Ingress::new(&self.namespace, name).class(&self.namespace)
    }
}
