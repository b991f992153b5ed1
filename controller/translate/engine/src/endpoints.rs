//! The pods behind a Service port, as its EndpointSlices tell.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::own_addresses::AddressChecker;
use crate::pods::{Role, Share};
use crate::report::Reporter;
use crate::slices::Endpoint;
use crate::zones::Zones;
use crate::{EndpointSlice, Kind, ObjectCache, ObjectKey, ObjectRef, Provenance, Report, Severity};
use sluice_ir::ReasonCode;

/// Query for the endpoints of a Service.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) service: &'a ObjectKey,
    pub(crate) port: &'a ServicePort,
    /// Also those that terminate and still serve.
    pub(crate) draining: bool,
    /// Also the zones that they are near to.
    pub(crate) zones: bool,
}

/// The pods of one port, over all slices, sorted and without duplicates: those that are ready, and on demand those that
/// terminate and still serve.
pub(crate) fn resolve(
    wanted: Wanted<'_>,
    cluster: &ObjectCache,
    checker: &AddressChecker<'_>,
    reports: &mut Vec<Report>,
) -> Vec<sluice_ir::Endpoint> {
    let listed: Vec<Listed<'_>> = listed(wanted, cluster);
    let zones = wanted
        .zones
        .then(|| Zones::among(listed.iter().map(|listed| listed.endpoint)));
    let mut found: BTreeMap<SocketAddr, sluice_ir::Endpoint> = BTreeMap::new();
    for Listed {
        endpoint,
        port,
        terminates,
    } in listed
    {
        let namespace = &wanted.service.namespace;
        let Role { share, backup } = cluster.pods.role(endpoint, namespace, reports);
        let (weight, rests) = match share {
            Share::Weight(weight) => (weight, false),
            Share::Sessions => (NonZeroU16::MIN, true),
        };
        let owner = ObjectRef {
            kind: Kind::Service,
            key: wanted.service.clone(),
        };
        let mut reporter = Reporter::new(owner, reports);
        for ip in endpoint.addresses.iter() {
            let Some(address) = address(ip, port, checker, &mut reporter) else {
                continue;
            };
            let zones = zones
                .as_ref()
                .map(|zones| zones.of(endpoint))
                .unwrap_or_default();
            let new = sluice_ir::Endpoint {
                address,
                weight,
                zones: zones.into(),
                draining: terminates || rests,
                backup,
                unhealthy: false,
            };
            // Ready in one slice is ready.
            found
                .entry(address)
                .and_modify(|known| known.draining &= new.draining)
                .or_insert(new);
        }
    }
    found.into_values().collect()
}

/// An endpoint of a slice that may be used, and its port there.
struct Listed<'a> {
    endpoint: &'a Endpoint,
    port: u16,
    terminates: bool,
}

fn listed<'a>(wanted: Wanted<'a>, cluster: &'a ObjectCache) -> Vec<Listed<'a>> {
    let mut listed = Vec::new();
    for slice in cluster.slices_of(wanted.service) {
        let Some(port) = port_number(slice, wanted.port) else {
            continue;
        };
        let useful = slice.endpoints.iter().filter_map(|endpoint| {
            let terminates = draining(endpoint).filter(|draining| wanted.draining || !draining)?;
            Some(Listed {
                endpoint,
                port,
                terminates,
            })
        });
        listed.extend(useful);
    }
    listed
}

/// True if an endpoint is draining; `None` if it does not serve. Ready unless stated otherwise.
fn draining(endpoint: &Endpoint) -> Option<bool> {
    let Some(conditions) = &endpoint.conditions else {
        return Some(false);
    };
    let ends = conditions.terminating == Some(true) && conditions.serving == Some(true);
    match conditions.ready.unwrap_or(true) {
        true => Some(false),
        false => ends.then_some(true),
    }
}

/// The number that a Service port has in this slice: by name when the port is named, else the only one, else the
/// numeric target port.
fn port_number(slice: &EndpointSlice, port: &ServicePort) -> Option<u16> {
    let target = match &port.target_port {
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(_)) => None,
        None => Some(port.port),
    };
    let name = port.name.as_deref().unwrap_or_default();
    let named = slice
        .ports
        .iter()
        .filter(|p| protocol(&p.protocol) == protocol(&port.protocol))
        .find(|p| {
            // A nameless Service port matches any port of the slice.
            name.is_empty() || p.name.as_deref().unwrap_or_default() == name
        });
    let number = named.and_then(|p| p.port).or(target)?;
    u16::try_from(number).ok().filter(|number| *number != 0)
}

fn protocol(written: &Option<String>) -> &str {
    written.as_deref().unwrap_or("TCP")
}

fn address(
    ip: Result<IpAddr, &str>,
    port: u16,
    checker: &AddressChecker<'_>,
    reporter: &mut Reporter<'_>,
) -> Option<SocketAddr> {
    let ip = match ip {
        Ok(ip) => ip,
        Err(text) => {
            let reason = format!(
                "expected an IP address, got {:?}",
                sluice_syntax::shortened(text)
            );
            reporter.report(
                ReasonCode::InvalidValue,
                Severity::Error,
                "endpoints.addresses",
                reason,
                "endpoint not used",
            );
            return None;
        }
    };
    let address = SocketAddr::new(ip.to_canonical(), port);
    if let Err(forbidden) = checker.check(address, Provenance::Written) {
        let reason = format!("expected a pod, got {address}, {forbidden}");
        reporter.report(
            ReasonCode::RefNotPermitted,
            Severity::Error,
            "endpoints.addresses",
            reason,
            "endpoint not used",
        );
        return None;
    }
    Some(address)
}
