//! The pods behind a Service port, as its EndpointSlices tell.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::report::Reporter;
use crate::{Options, Severity};

/// Ready addresses of one port, over all slices, sorted and without duplicates.
pub(crate) fn ready<'a>(
    slices: impl Iterator<Item = &'a EndpointSlice>,
    port: &ServicePort,
    options: &Options,
    reporter: &mut Reporter<'_>,
) -> BTreeSet<SocketAddr> {
    let mut ready = BTreeSet::new();
    for slice in slices {
        let Some(number) = port_number(slice, port) else { continue };
        for endpoint in slice.endpoints.iter().filter(|endpoint| is_ready(endpoint)) {
            for text in &endpoint.addresses {
                if let Some(address) = address(text, number, options, reporter) {
                    ready.insert(address);
                }
            }
        }
    }
    ready
}

/// Absent means ready; terminating and serving do not count, as in ingress-nginx.
fn is_ready(endpoint: &Endpoint) -> bool {
    endpoint.conditions.as_ref().and_then(|conditions| conditions.ready).unwrap_or(true)
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
    let named = ports.iter().filter(|p| is_tcp(p)).find(|p| {
        // A nameless Service port matches any port of the slice.
        name.is_empty() || p.name.as_deref().unwrap_or_default() == name
    });
    let number = named.and_then(|p| p.port).or(target)?;
    u16::try_from(number).ok().filter(|number| *number != 0)
}

fn is_tcp(port: &EndpointPort) -> bool {
    port.protocol.as_deref().unwrap_or("TCP") == "TCP"
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
