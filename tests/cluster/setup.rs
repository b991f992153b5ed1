//! Set-up of most tests.

use anyhow::Result;
use serde_json::Value;
use sluice_tests::apiserver::Cluster;
use sluice_tests::echo::Echo;
use sluice_tests::manifests::{Ingress, endpoint_slice, service};

/// Ingresses, as the API names them.
pub(crate) const NETWORKING: &str = "networking.k8s.io/v1";

/// A Service `web` with one pod.
pub(crate) async fn web(cluster: &Cluster) -> Result<Vec<Echo>> {
    let pods = cluster.pods("web", 1).await?;
    web_in(cluster, cluster.namespace(), &pods).await?;
    Ok(pods)
}

/// The same in another namespace, for pods that run already.
pub(crate) async fn web_in(cluster: &Cluster, namespace: &str, pods: &[Echo]) -> Result<()> {
    let addrs: Vec<_> = pods.iter().map(Echo::addr).collect();
    cluster
        .apply(&service(namespace, "web", 80, &addrs))
        .await?;
    cluster
        .apply(&endpoint_slice(namespace, "web", &addrs))
        .await
}

/// An Ingress of our class that leads a host to `web`.
pub(crate) fn web_ingress(cluster: &Cluster, name: &str, host: &str) -> Ingress {
    cluster.ingress(name).host(host).path("/", "web", 80)
}

/// Applies one.
pub(crate) async fn apply_web_ingress(cluster: &Cluster, name: &str, host: &str) -> Result<()> {
    cluster
        .apply(&web_ingress(cluster, name, host).to_json())
        .await
}

/// The addresses in the status of an Ingress.
pub(crate) fn addresses(ingress: &Value) -> Vec<&str> {
    let found = ingress
        .pointer("/status/loadBalancer/ingress")
        .and_then(Value::as_array);
    found.into_iter().flatten().filter_map(address).collect()
}

fn address(value: &Value) -> Option<&str> {
    value["ip"].as_str().or(value["hostname"].as_str())
}

/// Flags as the command line has them.
pub(crate) fn flags<const N: usize>(flags: [&str; N]) -> Vec<String> {
    flags.map(str::to_owned).into()
}
