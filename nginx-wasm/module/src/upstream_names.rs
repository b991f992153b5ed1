//! Names of backends in the access log, as ingress-nginx writes them: `NAMESPACE-SERVICE-PORT`.

use sluice_filter_config::host_contract::BACKEND;
use sluice_ngx::{Computed, LiveRequest};

/// The backend of the route, `NAMESPACE/SERVICE/PORT`.
const MAIN: &[u8] = b"sluice_main";

/// The name of that one; `-` where there is none.
pub(crate) const UPSTREAM: Computed = Computed {
    name: "sluice_upstream_name",
    value: |request| {
        Some(
            main(request)
                .and_then(joined)
                .unwrap_or_else(|| b"-".to_vec()),
        )
    },
};
/// The name of the canary that took its place; empty where none did.
pub(crate) const ALTERNATIVE: Computed = Computed {
    name: "sluice_alternative_name",
    value: alternative,
};

fn main<'a>(request: &'a mut LiveRequest<'_>) -> Option<&'a [u8]> {
    request.variable(MAIN)
}

fn alternative(request: &mut LiveRequest<'_>) -> Option<Vec<u8>> {
    let backend = request.variable(BACKEND.name.as_bytes());
    let backend = backend.map(<[u8]>::to_vec).unwrap_or_default();
    let is_main = main(request) == Some(&backend);
    let name = (!is_main).then(|| joined(&backend)).flatten();
    Some(name.unwrap_or_default())
}

fn joined(backend: &[u8]) -> Option<Vec<u8>> {
    let mut parts = backend.splitn(3, |byte| *byte == b'/');
    let parts = [parts.next()?, parts.next()?, parts.next()?];
    let is_whole = parts.iter().all(|part| !part.is_empty());
    is_whole.then(|| parts.join(&b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_has_a_namespace_a_service_and_a_port() {
        assert_eq!(joined(b"a/web/80").as_deref(), Some(&b"a-web-80"[..]));
        assert_eq!(joined(b"a/web/x/y").as_deref(), Some(&b"a-web-x/y"[..]));
        for other in ["", "a", "a/web", "/web/80", "a//80", "a/web/"] {
            assert_eq!(joined(other.as_bytes()), None, "{other}");
        }
    }
}
