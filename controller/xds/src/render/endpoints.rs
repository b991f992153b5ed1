//! The pods behind a backend: EDS.

use envoy_types::pb::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use envoy_types::pb::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint as EnvoyEndpoint, LbEndpoint, LocalityLbEndpoints,
};
use sluice_ir::{BackendId, Endpoint};

use super::wire::address;

/// The endpoints of one backend. None at all is an assignment too: requests get 503.
#[must_use]
pub fn load_assignment(id: &BackendId, endpoints: &[Endpoint]) -> ClusterLoadAssignment {
    let locality =
        LocalityLbEndpoints { lb_endpoints: endpoints.iter().map(endpoint).collect(), ..Default::default() };
    ClusterLoadAssignment {
        cluster_name: id.as_str().to_owned(),
        endpoints: vec![locality],
        ..ClusterLoadAssignment::default()
    }
}

fn endpoint(endpoint: &Endpoint) -> LbEndpoint {
    let host = EnvoyEndpoint { address: Some(address(endpoint.address)), ..EnvoyEndpoint::default() };
    LbEndpoint { host_identifier: Some(HostIdentifier::Endpoint(host)), ..LbEndpoint::default() }
}
