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
    name.extend_from_slice(main(request));
    if !join(name) {
        name.clear();
        name.push(b'-');
    }
    true
}

fn alternative(request: &mut LiveRequest<'_>, name: &mut Vec<u8>) -> bool {
    let backend = request.variable(BACKEND.name.as_bytes());
    name.extend_from_slice(backend.unwrap_or_default());
    if main(request) == name || !join(name) {
        name.clear();
    }
    true
}

/// Writes hyphens in place of the slashes; `false`: it names no backend.
fn join(backend: &mut [u8]) -> bool {
    let mut parts = backend.splitn(3, |byte| *byte == b'/').map(<[u8]>::len);
    let lengths = [parts.next(), parts.next(), parts.next()].map(Option::unwrap_or_default);
    let [namespace, service, port] = lengths;
    if namespace == 0 || service == 0 || port == 0 {
        return false;
    }
    for slash in [namespace, namespace + 1 + service] {
        if let Some(byte) = backend.get_mut(slash) {
            *byte = b'-';
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_has_a_namespace_a_service_and_a_port() {
        for (backend, name) in [("a/web/80", "a-web-80"), ("a/web/x/y", "a-web-x/y")] {
            let mut joined = backend.as_bytes().to_vec();
            assert!(join(&mut joined), "{backend}");
            assert_eq!(String::from_utf8_lossy(&joined), name);
        }
        for other in ["", "a", "a/web", "/web/80", "a//80", "a/web/"] {
            assert!(!join(&mut other.as_bytes().to_vec()), "{other}");
        }
    }
}
