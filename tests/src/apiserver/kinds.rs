//! The kinds that the fake stores.

/// The URL and properties of a kind.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) api_version: &'static str,
    pub(super) name: &'static str,
    pub(super) plural: &'static str,
    pub(super) is_namespaced: bool,
    pub(super) has_status: bool,
}

const fn kind(
    api_version: &'static str,
    name: &'static str,
    plural: &'static str,
    is_namespaced: bool,
    has_status: bool,
) -> Kind {
    Kind {
        api_version,
        name,
        plural,
        is_namespaced,
        has_status,
    }
}

pub(super) static KINDS: [Kind; 14] = [
    kind(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        false,
        false,
    ),
    kind("apps/v1", "Deployment", "deployments", true, true),
    kind("coordination.k8s.io/v1", "Lease", "leases", true, false),
    kind(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        "endpointslices",
        true,
        false,
    ),
    kind("events.k8s.io/v1", "Event", "events", true, false),
    kind("networking.k8s.io/v1", "Ingress", "ingresses", true, true),
    kind(
        "networking.k8s.io/v1",
        "IngressClass",
        "ingressclasses",
        false,
        false,
    ),
    kind("v1", "ConfigMap", "configmaps", true, false),
    kind("v1", "Event", "events", true, false),
    kind("v1", "Namespace", "namespaces", false, true),
    kind("v1", "Node", "nodes", false, true),
    kind("v1", "Pod", "pods", true, true),
    kind("v1", "Secret", "secrets", true, false),
    kind("v1", "Service", "services", true, true),
];

/// The kind with these objects at this place of the API.
pub(super) fn by_plural(api_version: &str, plural: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|kind| kind.api_version == api_version && kind.plural == plural)
}

/// The kind as a manifest names it.
pub(super) fn by_name(api_version: &str, name: &str) -> Option<&'static Kind> {
    KINDS
        .iter()
        .find(|kind| kind.api_version == api_version && kind.name == name)
}

impl Kind {
    /// The path of its objects in a namespace, or of one object.
    pub(super) fn path(&self, namespace: &str, name: &str) -> String {
        let group = if self.api_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        let mut path = format!("/{group}/{}", self.api_version);
        if self.is_namespaced {
            path.push_str(&format!("/namespaces/{namespace}"));
        }
        path.push_str(&format!("/{}", self.plural));
        if !name.is_empty() {
            path.push_str(&format!("/{name}"));
        }
        path
    }
}
