//! The pods behind a backend: EDS.

use std::collections::BTreeMap;

use envoy_types::pb::envoy::config::core::v3::HealthStatus;
use envoy_types::pb::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use envoy_types::pb::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint as EnvoyEndpoint, LbEndpoint, LocalityLbEndpoints,
};
use envoy_types::pb::google::protobuf::UInt32Value;
use sluice_ir::{Backend, BackendId, Endpoint, Protocol};

use super::proto::address;

/// The endpoints of one backend. None at all is an assignment too: requests get 503. Pods that speak FastCGI get none: HTTP would
/// be noise to them.
///
/// Backups have a lower priority, and unhealthy endpoints the lowest: where Envoy balances by itself, they serve when there is
/// nobody else, and draining endpoints do not. The filter's choice looks at neither.
#[must_use]
pub fn load_assignment(id: &BackendId, backend: &Backend) -> ClusterLoadAssignment {
    let is_spoken = backend.transport.protocol != Protocol::FastCgi;
    let endpoints = backend.endpoints.iter().filter(|_| is_spoken);
    let mut ranks: BTreeMap<Rank, Vec<&Endpoint>> = BTreeMap::from([(Rank::default(), Vec::new())]);
    for endpoint in endpoints {
        ranks.entry(Rank::of(endpoint)).or_default().push(endpoint);
    }
    // There must be no gap between priorities.
    let localities = (0..)
        .zip(ranks.into_values())
        .map(|(priority, endpoints)| locality(priority, &endpoints));
    ClusterLoadAssignment {
        cluster_name: id.as_str().to_owned(),
        endpoints: localities.collect(),
        ..ClusterLoadAssignment::default()
    }
}

/// The first rank serves, as in the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    unhealthy: bool,
    backup: bool,
}

impl Rank {
    fn of(endpoint: &Endpoint) -> Self {
        Rank {
            unhealthy: endpoint.unhealthy,
            backup: endpoint.backup,
        }
    }
}

fn locality(priority: u32, endpoints: &[&Endpoint]) -> LocalityLbEndpoints {
    LocalityLbEndpoints {
        lb_endpoints: endpoints.iter().copied().map(endpoint).collect(),
        priority,
        ..LocalityLbEndpoints::default()
    }
}

fn endpoint(endpoint: &Endpoint) -> LbEndpoint {
    let host = EnvoyEndpoint {
        address: Some(address(endpoint.address)),
        ..EnvoyEndpoint::default()
    };
    // Envoy's own balancing is what is left when the filter chose no endpoint; one is its default.
    let weight = Some(endpoint.weight.get()).filter(|weight| *weight > 1);
    let status = match endpoint.draining {
        true => HealthStatus::Draining,
        false => HealthStatus::Unknown,
    };
    LbEndpoint {
        health_status: status.into(),
        host_identifier: Some(HostIdentifier::Endpoint(host)),
        load_balancing_weight: weight.map(|weight| UInt32Value {
            value: weight.into(),
        }),
        ..LbEndpoint::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn backend(endpoints: &[&str]) -> Backend {
        let endpoints = endpoints.iter();
        Backend {
            endpoints: endpoints
                .map(|text| Endpoint::at(text.parse().unwrap()))
                .collect(),
            ..Backend::default()
        }
    }

    #[test]
    fn pods_of_fastcgi_get_no_http() {
        let mut backend = backend(&["10.0.0.1:9000"]);
        let count = |backend: &Backend| {
            let assignment = load_assignment(&BackendId::new("default/php/9000"), backend);
            assignment.endpoints[0].lb_endpoints.len()
        };
        assert_eq!(count(&backend), 1);
        Arc::make_mut(&mut backend.transport).protocol = Protocol::FastCgi;
        assert_eq!(count(&backend), 0);
    }

    #[test]
    fn no_endpoints_are_an_assignment_without_any() {
        let assignment = load_assignment(&BackendId::new("default/shop/80"), &backend(&[]));
        assert_eq!(assignment.cluster_name, "default/shop/80");
        assert!(assignment.endpoints[0].lb_endpoints.is_empty());
    }

    #[test]
    fn backups_and_unhealthy_endpoints_have_priorities_without_a_gap() {
        let mut backend = backend(&["10.0.0.1:80", "10.0.0.2:80"]);
        let counts = |backend: &Backend| -> Vec<_> {
            let assignment = load_assignment(&BackendId::new("default/shop/80"), backend);
            let of =
                |locality: &LocalityLbEndpoints| (locality.priority, locality.lb_endpoints.len());
            assignment.endpoints.iter().map(of).collect()
        };
        assert_eq!(counts(&backend), [(0, 2)]);
        backend.endpoints[0].backup = true;
        assert_eq!(counts(&backend), [(0, 1), (1, 1)]);
        backend.endpoints[1].backup = true;
        assert_eq!(counts(&backend), [(0, 0), (1, 2)]);
        backend.endpoints[0].unhealthy = true;
        assert_eq!(counts(&backend), [(0, 0), (1, 1), (2, 1)]);
        backend.endpoints[1].backup = false;
        assert_eq!(counts(&backend), [(0, 1), (1, 1)]);
        backend.endpoints[1].unhealthy = true;
        assert_eq!(counts(&backend), [(0, 0), (1, 1), (2, 1)]);
    }

    #[test]
    fn endpoints_keep_their_order_and_their_family() {
        let backend = backend(&["10.0.0.1:80", "[2001:db8::1]:8080"]);
        let assignment = load_assignment(&BackendId::new("default/shop/80"), &backend);
        let text = format!("{assignment:?}");
        let position = |address: &str| text.find(&format!("address: \"{address}\"")).unwrap();
        assert!(position("10.0.0.1") < position("2001:db8::1"));
    }
}
