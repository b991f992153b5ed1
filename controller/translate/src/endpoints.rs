//! The pods behind a Service port, as its EndpointSlices tell.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::report::Reporter;
use crate::{Options, Severity};

/// The pods of one port, over all slices, sorted and without duplicates: those that are ready, and on demand those that
/// terminate and still serve.
pub(crate) fn of<'a>(
    slices: impl Iterator<Item = &'a EndpointSlice>,
    port: &ServicePort,
    with_draining: bool,
    options: &Options,
    reporter: &mut Reporter<'_>,
) -> Vec<sluice_ir::Endpoint> {
    let mut found: BTreeMap<SocketAddr, bool> = BTreeMap::new();
    for slice in slices {
        let Some(number) = port_number(slice, port) else { continue };
        for endpoint in &slice.endpoints {
            let Some(draining) = draining(endpoint).filter(|draining| with_draining || !draining) else {
                continue;
            };
            for text in &endpoint.addresses {
                if let Some(address) = address(text, number, options, reporter) {
                    // Ready in one slice is ready.
                    *found.entry(address).or_insert(true) &= draining;
                }
            }
        }
    }
    found.into_iter().map(|(address, draining)| sluice_ir::Endpoint { address, draining }).collect()
}

/// Whether a pod terminates, when it serves at all. Ready is what does not say otherwise.
fn draining(endpoint: &Endpoint) -> Option<bool> {
    let Some(conditions) = &endpoint.conditions else { return Some(false) };
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
    let ports = slice.ports.as_deref().unwrap_or_default();
    let name = port.name.as_deref().unwrap_or_default();
    let named = ports.iter().filter(|p| protocol(&p.protocol) == protocol(&port.protocol)).find(|p| {
        // A nameless Service port matches any port of the slice.
        name.is_empty() || p.name.as_deref().unwrap_or_default() == name
    });
    let number = named.and_then(|p| p.port).or(target)?;
    u16::try_from(number).ok().filter(|number| *number != 0)
}

fn protocol(written: &Option<String>) -> &str {
    written.as_deref().unwrap_or("TCP")
}

fn address(text: &str, port: u16, options: &Options, reporter: &mut Reporter<'_>) -> Option<SocketAddr> {
    let Ok(ip) = text.parse::<IpAddr>() else {
        let reason = format!("expected an IP address, got {:?}", crate::object::shortened(text));
        reporter.say(Severity::Error, "endpoints.addresses", reason, "endpoint not used");
        return None;
    };
    let ip = ip.to_canonical();
    if (ip.is_loopback() || ip.is_unspecified()) && options.own_ports.contains(&port) {
        let reason = format!("expected a pod, got {ip}:{port}, which Sluice itself listens on");
        reporter.say(Severity::Error, "endpoints.addresses", reason, "endpoint not used");
        return None;
    }
    Some(SocketAddr::new(ip, port))
}
