//! Names of backends in the access log, as ingress-nginx writes them: `NAMESPACE-SERVICE-PORT`.

use sluice_filter_config::host_contract::BACKEND;
use sluice_ngx::{Computed, LiveRequest};

/// The backend of the route, `NAMESPACE/SERVICE/PORT`.
const MAIN: &[u8] = b"sluice_main";

/// The name of that one; `-` where there is none.
pub(crate) const UPSTREAM: Computed = Computed {
    name: "sluice_upstream_name",
    write: upstream,
};
/// The name of the canary that took its place; empty where none did.
pub(crate) const ALTERNATIVE: Computed = Computed {
    name: "sluice_alternative_name",
    write: alternative,
};

fn main<'a>(request: &'a mut LiveRequest<'_>) -> &'a [u8] {
    request.variable(MAIN).unwrap_or_default()
}

fn upstream(request: &mut LiveRequest<'_>, name: &mut Vec<u8>) -> bool {
    match service_port(main(request)) {
        Some(parts) => write(parts, name),
        None => name.push(b'-'),
    }
    true
}

fn alternative(request: &mut LiveRequest<'_>, name: &mut Vec<u8>) -> bool {
    let backend = request.variable(BACKEND.name.as_bytes());
    let backend = backend.unwrap_or_default().to_vec();
    let backend = service_port(&backend);
    if backend != service_port(main(request)) {
        backend.into_iter().for_each(|parts| write(parts, name));
    }
    true
}

/// Namespace, Service and port of a backend, with whatever transport, whose label may follow; `None`: it has no Service, as a host
/// outside of the cluster, which alone has a colon.
fn service_port(backend: &[u8]) -> Option<[&[u8]; 3]> {
    let mut parts = backend.split(|byte| *byte == b'/');
    let parts = [parts.next()?, parts.next()?, parts.next()?];
    let is_name = |part: &&[u8]| !part.is_empty() && !part.contains(&b':');
    parts.iter().all(is_name).then_some(parts)
}

fn write([namespace, service, port]: [&[u8]; 3], name: &mut Vec<u8>) {
    for part in [namespace, b"-", service, b"-", port] {
        name.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_has_a_namespace_a_service_and_a_port_whatever_its_transport() {
        for backend in ["a/web/80", "a/web/80/fca1293ec97f52b2"] {
            let mut name = Vec::new();
            write(service_port(backend.as_bytes()).unwrap(), &mut name);
            assert_eq!(String::from_utf8_lossy(&name), "a-web-80");
        }
        for other in [
            "",
            "a",
            "a/web",
            "/web/80",
            "a//80",
            "a/web/",
            "external/shop.example:443",
            "external/shop.example:443/fca1293ec97f52b2",
        ] {
            assert_eq!(service_port(other.as_bytes()), None, "{other}");
        }
    }
}
