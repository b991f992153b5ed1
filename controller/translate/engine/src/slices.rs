//! An EndpointSlice without the fields that are not used: a large cluster has a hundred thousand endpoints, and they are most of
//! what is remembered of it.

use std::sync::Arc;

use k8s_openapi::api::discovery::v1 as kubernetes;
use k8s_openapi::api::discovery::v1::{EndpointConditions, EndpointPort};
use serde::Deserialize;

use crate::object_names::{Names, has_names};

/// The label by which an EndpointSlice names its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Some of the endpoints of a Service.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "kubernetes::EndpointSlice")]
pub struct EndpointSlice {
    pub(crate) names: Names,
    /// The Service that it says it is of.
    pub(crate) service: Option<Arc<str>>,
    pub(crate) ports: Box<[EndpointPort]>,
    pub(crate) endpoints: Box<[Endpoint]>,
}

has_names!(EndpointSlice);

/// One pod, or whatever else has addresses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) addresses: Box<[Box<str>]>,
    pub(crate) conditions: Option<EndpointConditions>,
    /// The name of the pod that it is, if it is one of its own namespace: another one is none of the slice's business.
    pub(crate) pod: Option<Box<str>>,
    pub(crate) zone: Option<Box<str>>,
    /// The zones that Kubernetes wants it to serve.
    pub(crate) hints: Box<[Box<str>]>,
}

impl From<kubernetes::EndpointSlice> for EndpointSlice {
    fn from(slice: kubernetes::EndpointSlice) -> Self {
        let kubernetes::EndpointSlice {
            metadata,
            ports,
            endpoints,
            ..
        } = slice;
        let labels = metadata.labels.as_ref();
        let service = labels.and_then(|labels| labels.get(SERVICE_NAME));
        let service = service.map(|service| service.as_str().into());
        let own = metadata.namespace.as_deref().unwrap_or("default");
        let endpoints = endpoints
            .into_iter()
            .map(|endpoint| Endpoint::from_kubernetes(endpoint, own))
            .collect();
        EndpointSlice {
            names: metadata.into(),
            service,
            ports: ports.unwrap_or_default().into(),
            endpoints,
        }
    }
}

impl Endpoint {
    pub(crate) fn from_kubernetes(endpoint: kubernetes::Endpoint, namespace: &str) -> Self {
        let kubernetes::Endpoint {
            addresses,
            conditions,
            target_ref,
            zone,
            hints,
            ..
        } = endpoint;
        let pod = target_ref.filter(|target| target.kind.as_deref() == Some("Pod"));
        let own = pod.filter(|target| {
            target
                .namespace
                .as_deref()
                .is_none_or(|other| other == namespace)
        });
        let zones = hints.and_then(|hints| hints.for_zones).unwrap_or_default();
        Endpoint {
            addresses: addresses.into_iter().map(String::into_boxed_str).collect(),
            conditions,
            pod: own.map(|target| target.name.unwrap_or_default().into_boxed_str()),
            zone: zone.map(String::into_boxed_str),
            hints: zones
                .into_iter()
                .map(|zone| zone.name.into_boxed_str())
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(target: serde_json::Value) -> Option<Box<str>> {
        let endpoint = json!({"addresses": ["10.0.0.1"], "targetRef": target});
        Endpoint::from_kubernetes(serde_json::from_value(endpoint).unwrap(), "shop").pod
    }

    #[test]
    fn only_a_pod_of_its_own_namespace_is_behind_an_endpoint() {
        assert_eq!(
            pod(json!({"kind": "Pod", "name": "a"})).as_deref(),
            Some("a")
        );
        assert_eq!(
            pod(json!({"kind": "Pod", "name": "a", "namespace": "shop"})).as_deref(),
            Some("a")
        );
        assert_eq!(
            pod(json!({"kind": "Pod", "name": "a", "namespace": "other"})),
            None
        );
        assert_eq!(pod(json!({"kind": "Node", "name": "a"})), None);
        assert_eq!(pod(json!(null)), None);
    }
}
