//! An EndpointSlice without the fields that are not used: a large cluster has a hundred thousand endpoints, and they are most of
//! what is remembered of it.

use std::net::IpAddr;
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
    pub(crate) addresses: Addresses,
    pub(crate) conditions: Option<EndpointConditions>,
    /// The name of the pod that it is, if it is one of its own namespace: another one is none of the slice's business.
    pub(crate) pod: Option<Box<str>>,
    /// Endpoints of a slice that follow each other share it.
    pub(crate) place: Option<Arc<Place>>,
}

/// Addresses of an endpoint. Nearly all have one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Addresses {
    Ip(IpAddr),
    Written(Box<[Box<str>]>),
}

/// A place of endpoints. Empty names are none.
#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    zone: Box<str>,
    /// The zones that Kubernetes wants it to serve.
    hints: Box<[Box<str>]>,
}

impl Addresses {
    fn of(written: Vec<String>) -> Self {
        if let [one] = written.as_slice()
            && let Ok(ip) = one.parse()
        {
            return Addresses::Ip(ip);
        }
        Addresses::Written(written.into_iter().map(String::into_boxed_str).collect())
    }

    /// Each of them, as it is written where it is no IP address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<IpAddr, &str>> {
        let (ip, written) = match self {
            Addresses::Ip(ip) => (Some(*ip), &[][..]),
            Addresses::Written(written) => (None, &written[..]),
        };
        let written = written
            .iter()
            .map(|text| text.parse().map_err(|_| text.as_ref()));
        ip.into_iter().map(Ok).chain(written)
    }
}

impl Place {
    /// The zone that they run in.
    pub(crate) fn zone(&self) -> Option<&str> {
        Some(self.zone.as_ref()).filter(|zone| !zone.is_empty())
    }

    /// The zones that Kubernetes wants them to serve.
    pub(crate) fn hints(&self) -> impl Iterator<Item = &str> {
        let hints = self.hints.iter().map(AsRef::as_ref);
        hints.filter(|zone: &&str| !zone.is_empty())
    }
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
        let mut last = None;
        let endpoints = endpoints.into_iter().map(|endpoint| {
            let mut endpoint = Endpoint::from_kubernetes(endpoint, own);
            if endpoint.place == last {
                endpoint.place.clone_from(&last);
            }
            last.clone_from(&endpoint.place);
            endpoint
        });
        let endpoints = endpoints.collect();
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
        let place = Place {
            zone: zone.unwrap_or_default().into_boxed_str(),
            hints: zones
                .into_iter()
                .map(|zone| zone.name.into_boxed_str())
                .collect(),
        };
        let is_somewhere = place.zone().is_some() || place.hints().next().is_some();
        Endpoint {
            addresses: Addresses::of(addresses),
            conditions,
            pod: own.map(|target| target.name.unwrap_or_default().into_boxed_str()),
            place: is_somewhere.then(|| Arc::new(place)),
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

    #[test]
    fn endpoints_of_one_place_share_it() {
        let endpoint = |ip: &str, zone| json!({"addresses": [ip], "zone": zone});
        let slice: EndpointSlice = serde_json::from_value(json!({
            "metadata": {"name": "s"}, "addressType": "IPv4",
            "endpoints": [
                endpoint("10.0.0.1", json!("a")), endpoint("10.0.0.2", json!("a")),
                endpoint("10.0.0.3", json!("b")), endpoint("10.0.0.4", json!("")),
            ],
        }))
        .unwrap();
        let places: Vec<_> = slice.endpoints.iter().map(|it| it.place.as_ref()).collect();
        let [Some(first), Some(second), Some(third), None] = places[..] else {
            panic!("{places:?}");
        };
        assert!(Arc::ptr_eq(first, second));
        assert_eq!([first.zone(), third.zone()], [Some("a"), Some("b")]);
    }

    #[test]
    fn addresses_are_those_that_are_written() {
        for (written, expected) in [
            (json!(["10.0.0.1"]), vec![Ok("10.0.0.1")]),
            (json!(["fd00::1"]), vec![Ok("fd00::1")]),
            (json!(["a.test"]), vec![Err("a.test")]),
            (
                json!(["10.0.0.1", "10.0.0.2", ""]),
                vec![Ok("10.0.0.1"), Ok("10.0.0.2"), Err("")],
            ),
            (json!([]), vec![]),
        ] {
            let endpoint = serde_json::from_value(json!({"addresses": written})).unwrap();
            let endpoint = Endpoint::from_kubernetes(endpoint, "shop");
            let expected: Vec<_> = expected
                .into_iter()
                .map(|ip| ip.map(|ip| ip.parse::<IpAddr>().unwrap()))
                .collect();
            assert_eq!(endpoint.addresses.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn an_endpoint_is_small() {
        assert!(size_of::<Endpoint>() <= 56, "{}", size_of::<Endpoint>());
    }
}
