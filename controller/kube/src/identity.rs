//! Identity of this replica in the cluster.

use anyhow::Context;
use kube::Client;

/// The name that our writes carry.
pub(crate) const MANAGER: &str = "sluice";

/// The name of our pod and its namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) pod: String,
    pub(crate) namespace: String,
}

impl Identity {
    /// `POD_NAME` and `POD_NAMESPACE`, as ingress-nginx; without them, what the pod's own files say, or outside of a
    /// cluster the machine's name and the namespace of the kubeconfig.
    pub(crate) fn find(client: &Client) -> anyhow::Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let machine = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        let pod = variable("POD_NAME").or_else(|| Some(machine()?.trim().to_owned()));
        let namespace =
            variable("POD_NAMESPACE").unwrap_or_else(|| client.default_namespace().to_owned());
        Ok(Identity {
            pod: pod.context("POD_NAME is not set, and this machine has no name")?,
            namespace,
        })
    }
}

/// The namespace of our pod, where that can be known without asking: `POD_NAMESPACE`, or what the pod's own files say.
pub fn own_namespace() -> Option<String> {
    const FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let variable = std::env::var("POD_NAMESPACE").ok();
    let known = variable.or_else(|| Some(std::fs::read_to_string(FILE).ok()?.trim().to_owned()));
    known.filter(|namespace| !namespace.is_empty())
}
