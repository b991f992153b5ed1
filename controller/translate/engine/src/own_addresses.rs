//! Addresses and ports that are Sluice's own, as far as the objects tell (R5, R9 of the security rules): what leads there
//! comes back, for ever without a hop count.
//!
//! ```text
//!   flags, this machine, peers of xDS --------+
//!   ConfigMaps of TCP and UDP ports ---------+--> AddressPolicy --> endpoints of all backends
//!   --publish-service: its addresses, pods ---+
//!   EndpointSlices of our namespace with us --+
//! ```

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sluice_ir::Transport;

use crate::{
    AddressPolicy, Carries, Changes, Forbidden, Kind, ObjectCache, ObjectKey, Provenance, Service,
    UpstreamOptions,
};

/// The policy of the options with all addresses and ports that are Sluice's own. `l4_ports` are those that ConfigMaps claim.
pub fn effective_policy(
    cluster: &ObjectCache,
    options: UpstreamOptions<'_>,
    l4_ports: impl IntoIterator<Item = u16>,
) -> AddressPolicy {
    let mut policy = options.addresses.clone();
    policy.own_ports.extend(l4_ports);
    policy.own_addresses.extend(cluster.machines());
    // Only the operator writes into our namespace. Addresses that every machine has say nothing.
    let ours: BTreeSet<IpAddr> = policy
        .own_addresses
        .iter()
        .copied()
        .filter(|ip| !ip.is_loopback())
        .collect();
    if let Some(namespace) = options.own_namespace {
        for service in cluster.services_with_slices(namespace) {
            let pods: BTreeSet<IpAddr> = addresses_of(cluster, service).collect();
            if !pods.is_disjoint(&ours) {
                policy.own_addresses.extend(pods);
            }
        }
    }
    if let Some(key) = options.publish_service {
        policy.own_addresses.extend(addresses_of(cluster, key));
        policy.own_services = cluster
            .service(key)
            .map(|service| addresses_of_service(service, &policy))
            .unwrap_or_default();
    }
    policy
}

/// True if the changes may change the policy. `l4_config_maps` claim ports.
pub(crate) fn may_change(
    changes: &Changes,
    options: UpstreamOptions<'_>,
    l4_config_maps: &[&ObjectKey],
) -> bool {
    let is_ours = |key: &ObjectKey| {
        options.publish_service == Some(key) || options.own_namespace == Some(&*key.namespace)
    };
    changes.is_everything()
        || changes.include_machines()
        || changes.endpoints().iter().any(is_ours)
        || changes.objects().iter().any(|object| match object.kind {
            Kind::ConfigMap => l4_config_maps.contains(&&object.key),
            Kind::Service => is_ours(&object.key),
            _ => false,
        })
}

/// Checks the addresses of one backend.
pub(crate) struct AddressChecker<'a> {
    policy: &'a AddressPolicy,
    carries: Carries,
    found_own: Cell<bool>,
}

impl<'a> AddressChecker<'a> {
    /// A limit of connections marks a backend that gets anything, not only requests.
    pub(crate) fn new(policy: &'a AddressPolicy, transport: &Transport) -> Self {
        let carries = if transport.max_connections.is_some() {
            Carries::Anything
        } else {
            Carries::Http
        };
        AddressChecker {
            policy,
            carries,
            found_own: Cell::new(false),
        }
    }

    pub(crate) fn check(&self, address: SocketAddr, from: Provenance) -> Result<(), Forbidden> {
        let checked = self.policy.check_for(self.carries, address, from);
        self.found_own
            .set(self.found_own() || checked == Err(Forbidden::OwnListener));
        checked
    }

    /// An address was refused because it is Sluice's own.
    pub(crate) fn found_own(&self) -> bool {
        self.found_own.get()
    }
}

fn addresses_of<'a>(
    cluster: &'a ObjectCache,
    service: &'a ObjectKey,
) -> impl Iterator<Item = IpAddr> + 'a {
    let endpoints = cluster
        .slices_of(service)
        .flat_map(|slice| slice.endpoints.iter());
    let addresses = endpoints.flat_map(|endpoint| endpoint.addresses.iter());
    addresses.filter_map(Result::ok).map(|ip| ip.to_canonical())
}

/// Every address that a Service answers at, with each of its ports.
fn addresses_of_service(
    service: &Service,
    policy: &AddressPolicy,
) -> BTreeMap<SocketAddr, Carries> {
    let ports = service.ports().iter();
    let ports =
        ports.filter_map(|port| Some((u16::try_from(port.port).ok()?, carries(port, policy))));
    let ports: Vec<(u16, Carries)> = ports.collect();
    service
        .addresses
        .iter()
        .flat_map(|ip| {
            ports
                .iter()
                .map(|(port, leads)| (SocketAddr::new(*ip, *port), *leads))
        })
        .collect()
}

/// A port by name leads to HTTP unless its own number says something else.
fn carries(port: &ServicePort, policy: &AddressPolicy) -> Carries {
    let is_other = |number: i32| {
        let number = u16::try_from(number).unwrap_or_default();
        policy.own_ports.contains(&number) && !policy.http_ports.contains(&number)
    };
    let leads_to_other = match &port.target_port {
        Some(IntOrString::Int(target)) => is_other(*target),
        Some(IntOrString::String(_)) | None => is_other(port.port),
    };
    if leads_to_other {
        Carries::Anything
    } else {
        Carries::Http
    }
}
