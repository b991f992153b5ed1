//! Addresses and ports that are Sluice's own, as far as the objects tell (R5, R9 of the security rules): what leads there
//! comes back, for ever where nobody counts.
//!
//! ```text
//!   flags, this machine, peers of xDS --------+
//!   ConfigMaps of ports without HTTP ---------+--> AddressPolicy --> endpoints of all backends
//!   --publish-service: its addresses, pods ---+
//!   EndpointSlices of our namespace with us --+
//! ```

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sluice_ir::Transport;

use crate::resources::Changes;
use crate::streams;
use crate::{AddressPolicy, Carries, Forbidden, Kind, ObjectKey, Options, Provenance, Resources};

/// The policy with all that is ours.
pub(crate) fn policy(resources: &Resources, options: &Options) -> AddressPolicy {
    let mut policy = options.addresses.clone();
    policy.own_ports.extend(streams::ports(resources, options));
    policy.own_addresses.extend(resources.machines());
    // Whoever writes into our namespace is the operator. Addresses that every machine has say nothing.
    let ours: BTreeSet<IpAddr> = policy
        .own_addresses
        .iter()
        .copied()
        .filter(|ip| !ip.is_loopback())
        .collect();
    if let Some(namespace) = &options.own_namespace {
        for service in resources.services_with_slices(namespace) {
            let pods: BTreeSet<IpAddr> = addresses_of(resources, service).collect();
            if !pods.is_disjoint(&ours) {
                policy.own_addresses.extend(pods);
            }
        }
    }
    if let Some(key) = &options.publish_service {
        policy.own_addresses.extend(addresses_of(resources, key));
        policy.own_services = resources
            .service(key)
            .map(|service| of_service(service, &policy))
            .unwrap_or_default();
    }
    policy
}

/// The changes may concern one of these.
pub(crate) fn is_concerned(changes: &Changes, options: &Options) -> bool {
    let is_map = |key: &ObjectKey| {
        options
            .tcp_services
            .iter()
            .chain(&options.udp_services)
            .any(|map| map == key)
    };
    let is_ours = |key: &ObjectKey| {
        options.publish_service.as_ref() == Some(key)
            || options.own_namespace.as_ref() == Some(&key.namespace)
    };
    changes.is_everything()
        || changes.are_of_machines()
        || changes.endpoints().iter().any(is_ours)
        || changes.objects().iter().any(|object| match object.kind {
            Kind::ConfigMap => is_map(&object.key),
            Kind::Service => is_ours(&object.key),
            _ => false,
        })
}

/// Judges the addresses of one backend.
pub(crate) struct Judge<'a> {
    policy: &'a AddressPolicy,
    carries: Carries,
    leads_home: Cell<bool>,
}

impl<'a> Judge<'a> {
    /// Only where anything may go is counted how much.
    pub(crate) fn new(policy: &'a AddressPolicy, transport: &Transport) -> Self {
        let carries = if transport.max_connections.is_some() {
            Carries::Anything
        } else {
            Carries::Http
        };
        Judge {
            policy,
            carries,
            leads_home: Cell::new(false),
        }
    }

    pub(crate) fn check(&self, address: SocketAddr, from: Provenance) -> Result<(), Forbidden> {
        let judged = self.policy.check_for(self.carries, address, from);
        self.leads_home
            .set(self.leads_home() || judged == Err(Forbidden::OwnListener));
        judged
    }

    /// An address was refused because it is Sluice's own.
    pub(crate) fn leads_home(&self) -> bool {
        self.leads_home.get()
    }
}

fn addresses_of<'a>(
    resources: &'a Resources,
    service: &'a ObjectKey,
) -> impl Iterator<Item = IpAddr> + 'a {
    let endpoints = resources
        .slices_of(service)
        .flat_map(|slice| slice.endpoints.iter());
    let texts = endpoints.flat_map(|endpoint| endpoint.addresses.iter());
    texts
        .filter_map(|text| text.parse::<IpAddr>().ok())
        .map(|ip| ip.to_canonical())
}

/// Every address that a Service answers at, with each of its ports.
fn of_service(service: &Service, policy: &AddressPolicy) -> BTreeMap<SocketAddr, Carries> {
    let Some(spec) = &service.spec else {
        return BTreeMap::new();
    };
    let written = spec
        .cluster_ip
        .iter()
        .chain(spec.cluster_ips.iter().flatten());
    let written = written
        .chain(spec.external_ips.iter().flatten())
        .chain(&spec.load_balancer_ip);
    let balancers = service
        .status
        .as_ref()
        .and_then(|status| status.load_balancer.as_ref());
    let balancers = balancers
        .into_iter()
        .flat_map(|status| status.ingress.iter().flatten());
    let texts = written.chain(balancers.filter_map(|balancer| balancer.ip.as_ref()));
    let ips: BTreeSet<IpAddr> = texts
        .filter_map(|text| text.parse::<IpAddr>().ok())
        .map(|ip| ip.to_canonical())
        .collect();
    let ports = spec.ports.iter().flatten();
    let ports =
        ports.filter_map(|port| Some((u16::try_from(port.port).ok()?, carries(port, policy))));
    let ports: Vec<(u16, Carries)> = ports.collect();
    ips.iter()
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
