//! Addresses for the status of Ingresses: fixed ones, those of a Service, or those of the nodes that carry the traffic. The
//! rules are ingress-nginx's (`internal/ingress/status`).

use std::collections::BTreeSet;
use std::net::IpAddr;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::networking::v1::{IngressLoadBalancerIngress, IngressPortStatus};
use kube::api::ListParams;
use kube::{Api, Client};
use sluice_translate::ObjectKey;

use crate::identity::Identity;

/// Labels that differ between the pods of one controller.
const OF_A_GENERATION: [&str; 3] = [
    "controller-revision-hash",
    "pod-template-generation",
    "pod-template-hash",
];

/// Source of the addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publish {
    /// IP addresses and names, as they are.
    Fixed(Vec<String>),
    /// Those at which this Service can be reached.
    Service(ObjectKey),
    /// Those of the nodes with ready pods that carry the traffic.
    Nodes {
        /// The pods that carry the traffic; without it, those with our own labels.
        selector: Option<String>,
        /// Internal addresses even where there are external ones.
        internal: bool,
    },
}

impl Publish {
    /// The addresses, sorted.
    pub(crate) async fn addresses(
        &self,
        client: &Client,
        identity: &Identity,
    ) -> anyhow::Result<Vec<IngressLoadBalancerIngress>> {
        let found = match self {
            Publish::Fixed(texts) => texts.iter().map(|text| address(text)).collect(),
            Publish::Service(key) => {
                let services: Api<Service> = Api::namespaced(client.clone(), &key.namespace);
                let service = services.get(&key.name).await;
                of_service(&service.with_context(|| format!("--publish-service {key}"))?)?
            }
            Publish::Nodes { selector, internal } => {
                let mut nodes = Nodes {
                    client,
                    identity,
                    internal: *internal,
                };
                nodes.addresses(selector.as_deref()).await?
            }
        };
        Ok(sorted(found))
    }

    /// The Service, if these addresses are its own and there are none: its load balancer is not there yet.
    pub(crate) fn awaited(&self, addresses: &[IngressLoadBalancerIngress]) -> Option<&ObjectKey> {
        match self {
            Publish::Service(key) if addresses.is_empty() => Some(key),
            _ => None,
        }
    }
}

/// In one order, each once, so that the same addresses are never written twice.
pub(crate) fn sorted(
    mut addresses: Vec<IngressLoadBalancerIngress>,
) -> Vec<IngressLoadBalancerIngress> {
    let key = |address: &IngressLoadBalancerIngress| (address.ip.clone(), address.hostname.clone());
    addresses.sort_by_cached_key(key);
    addresses.dedup_by(|a, b| key(a) == key(b));
    addresses
}

fn address(text: &str) -> IngressLoadBalancerIngress {
    match text.parse::<IpAddr>() {
        Ok(_) => IngressLoadBalancerIngress {
            ip: Some(text.to_owned()),
            ..Default::default()
        },
        Err(_) => IngressLoadBalancerIngress {
            hostname: Some(text.to_owned()),
            ..Default::default()
        },
    }
}

fn of_service(service: &Service) -> anyhow::Result<Vec<IngressLoadBalancerIngress>> {
    let Some(spec) = &service.spec else {
        bail!("expected a Service with a spec, got none")
    };
    let external = || spec.external_ips.iter().flatten().map(|ip| address(ip));
    // A headless Service says "None".
    let cluster_ip = || {
        let ip = spec.cluster_ip.iter().filter(|ip| *ip != "None");
        ip.map(|ip| address(ip)).collect()
    };
    Ok(match spec.type_.as_deref().unwrap_or("ClusterIP") {
        "ExternalName" => spec
            .external_name
            .iter()
            .map(|name| address(name))
            .collect(),
        "ClusterIP" => cluster_ip(),
        "NodePort" if spec.external_ips.iter().flatten().next().is_none() => cluster_ip(),
        "NodePort" => external().collect(),
        "LoadBalancer" => of_load_balancer(service).chain(external()).collect(),
        other => bail!("expected a Service type of Kubernetes, got {other:?}"),
    })
}

fn of_load_balancer(service: &Service) -> impl Iterator<Item = IngressLoadBalancerIngress> {
    let status = service
        .status
        .as_ref()
        .and_then(|status| status.load_balancer.as_ref());
    let ingresses = status
        .into_iter()
        .flat_map(|status| status.ingress.iter().flatten());
    ingresses.map(|ingress| {
        let ports = ingress.ports.as_ref().map(|ports| {
            let port = |port: &k8s_openapi::api::core::v1::PortStatus| IngressPortStatus {
                error: port.error.clone(),
                port: port.port,
                protocol: port.protocol.clone(),
            };
            ports.iter().map(port).collect()
        });
        IngressLoadBalancerIngress {
            hostname: ingress.hostname.clone(),
            ip: ingress.ip.clone(),
            ports,
        }
    })
}

struct Nodes<'a> {
    client: &'a Client,
    identity: &'a Identity,
    internal: bool,
}

impl Nodes<'_> {
    async fn addresses(
        &mut self,
        selector: Option<&str>,
    ) -> anyhow::Result<Vec<IngressLoadBalancerIngress>> {
        let selector = match selector {
            Some(selector) => selector.to_owned(),
            None => own_labels(self.client, self.identity).await?,
        };
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.identity.namespace);
        let pods = pods
            .list(&ListParams::default().labels(&selector))
            .await
            .context("pods of the data plane")?;
        let names: BTreeSet<&str> = pods
            .iter()
            .filter(|pod| is_ready(pod))
            .filter_map(node_of)
            .collect();
        let nodes: Api<Node> = Api::all(self.client.clone());
        let mut found = Vec::new();
        for name in names {
            let node = nodes
                .get_opt(name)
                .await
                .with_context(|| format!("node {name}"))?;
            found.extend(
                node.and_then(|node| of_node(&node, self.internal))
                    .map(|text| address(&text)),
            );
        }
        Ok(found)
    }
}

/// The labels that all pods of this controller have, as a selector.
pub(crate) async fn own_labels(client: &Client, identity: &Identity) -> anyhow::Result<String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &identity.namespace);
    let describe = || {
        let Identity { pod, namespace } = identity;
        format!(
            "our own pod {namespace}/{pod} (POD_NAMESPACE, POD_NAME); --publish-status-address needs none"
        )
    };
    let pod = pods.get(&identity.pod).await.with_context(describe)?;
    let labels = pod.metadata.labels.into_iter().flatten();
    let labels = labels.filter(|(name, _)| !OF_A_GENERATION.contains(&name.as_str()));
    let labels: Vec<String> = labels
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if labels.is_empty() {
        // An empty selector would mean every pod of the namespace.
        bail!("our own pod has no labels to find the others by");
    }
    Ok(labels.join(","))
}

fn is_ready(pod: &Pod) -> bool {
    let Some(status) = &pod.status else {
        return false;
    };
    let mut conditions = status.conditions.iter().flatten();
    status.phase.as_deref() == Some("Running")
        && conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn of_node(node: &Node, internal: bool) -> Option<String> {
    let addresses = || {
        node.status
            .iter()
            .flat_map(|status| status.addresses.iter().flatten())
    };
    let first = |type_: &str| {
        let mut found =
            addresses().filter(|found| found.type_ == type_ && !found.address.is_empty());
        found.next().map(|found| found.address.clone())
    };
    if internal {
        first("InternalIP")
    } else {
        first("ExternalIP").or_else(|| first("InternalIP"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn service(spec: Value, ingress: Value) -> Vec<String> {
        let status = json!({ "loadBalancer": { "ingress": ingress } });
        let service = serde_json::from_value(json!({ "spec": spec, "status": status })).unwrap();
        sorted(of_service(&service).unwrap())
            .iter()
            .map(text)
            .collect()
    }

    fn text(address: &IngressLoadBalancerIngress) -> String {
        address
            .ip
            .clone()
            .or_else(|| address.hostname.clone())
            .unwrap()
    }

    #[test]
    fn a_service_is_known_by_what_its_type_makes_reachable() {
        let external = json!({"type": "ExternalName", "externalName": "lb.example.org"});
        assert_eq!(service(external, json!([])), ["lb.example.org"]);
        assert_eq!(
            service(json!({"clusterIP": "10.0.0.1"}), json!([])),
            ["10.0.0.1"]
        );
        assert!(service(json!({"clusterIP": "None"}), json!([])).is_empty());
        let node_port = json!({"type": "NodePort", "clusterIP": "10.0.0.1"});
        assert_eq!(service(node_port, json!([])), ["10.0.0.1"]);
        let node_port =
            json!({"type": "NodePort", "clusterIP": "10.0.0.1", "externalIPs": ["192.0.2.9"]});
        assert_eq!(service(node_port, json!([])), ["192.0.2.9"]);
        let balancer = json!({"type": "LoadBalancer", "externalIPs": ["192.0.2.9", "192.0.2.1"]});
        let ingress = json!([{"ip": "192.0.2.1"}, {"hostname": "lb.example.org"}]);
        assert_eq!(
            service(balancer, ingress),
            ["lb.example.org", "192.0.2.1", "192.0.2.9"]
        );
        assert!(service(json!({"type": "LoadBalancer"}), json!([])).is_empty());
    }

    #[test]
    fn a_node_is_known_by_its_external_address_unless_the_internal_one_is_wanted() {
        let node = |addresses: Value| -> Node {
            serde_json::from_value(json!({ "status": { "addresses": addresses } })).unwrap()
        };
        let (inside, outside) = (
            json!({"type": "InternalIP", "address": "10.0.0.1"}),
            "192.0.2.1",
        );
        let both = node(json!([inside, {"type": "ExternalIP", "address": outside}]));
        assert_eq!(of_node(&both, false).as_deref(), Some(outside));
        assert_eq!(of_node(&both, true).as_deref(), Some("10.0.0.1"));
        assert_eq!(
            of_node(&node(json!([inside])), false).as_deref(),
            Some("10.0.0.1")
        );
        assert_eq!(of_node(&node(json!([])), false), None);
    }

    #[test]
    fn only_ready_pods_that_run_carry_traffic() {
        let pod = |phase: &str, ready: &str| -> Pod {
            let conditions = json!([{"type": "Ready", "status": ready}]);
            serde_json::from_value(json!({"status": {"phase": phase, "conditions": conditions}}))
                .unwrap()
        };
        assert!(is_ready(&pod("Running", "True")));
        assert!(!is_ready(&pod("Running", "False")) && !is_ready(&pod("Pending", "True")));
    }
}
