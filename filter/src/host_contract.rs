//! Properties and headers by which each host and the filter exchange matched routes and chosen endpoints.

use proxy_wasm::types::MapType;
use sluice_filter_config::Host;
use sluice_filter_config::host_contract::{
    BACKEND, BACKEND_HEADER, EJECTIONS, EJECTIONS_PROPERTY, ENDPOINT, ENDPOINT_HEADER,
    MANAGED_BACKEND_HEADER, MANAGED_ENDPOINT_HEADER, OWNER, ROUTE,
};

use crate::host;

/// Property of Envoy with the name of the matched route.
const ROUTE_NAME: &[u8] = b"xds\0route_name";

/// The id of the route that the data plane matched; `None` when it matched none of ours.
pub(crate) fn route(host: Host) -> Option<String> {
    let path = if host.is_nginx() {
        ROUTE.property.as_bytes()
    } else {
        ROUTE_NAME
    };
    host::property(path)
        .and_then(|value| String::from_utf8(value).ok())
        .filter(|route| !route.is_empty())
}

/// True if the matched route forwards. Envoy redirects and replies by itself only after the filter, and knows no cluster then;
/// nginx does so before.
pub(crate) fn is_forwarded(host: Host) -> bool {
    host.is_nginx() || host::property(b"xds\0cluster_name").is_some()
}

/// Says which backend the candidates belong to, where the route leaves that open.
pub(crate) fn set_backend(host: Host, backend: &str) -> bool {
    match host {
        Host::Envoy => host::set_request_header(BACKEND_HEADER, backend.as_bytes()),
        Host::ManagedEnvoy => host::set_request_header(MANAGED_BACKEND_HEADER, backend.as_bytes()),
        Host::Nginx | Host::NgxWasm => host::set_property(BACKEND.property, backend),
    }
}

/// Leaves the ordered candidates where the data plane looks for them; `false` when the host refuses.
pub(crate) fn set_endpoints(host: Host, endpoints: &str) -> bool {
    match host {
        Host::Envoy => host::set_request_header(ENDPOINT_HEADER, endpoints.as_bytes()),
        Host::ManagedEnvoy => {
            host::set_request_header(MANAGED_ENDPOINT_HEADER, endpoints.as_bytes())
        }
        Host::Nginx | Host::NgxWasm => host::set_property(ENDPOINT.property, endpoints),
    }
}

/// Leaves ejections for the log of the request. A data plane whose log is not for the controller has no place for them.
pub(crate) fn report_ejections(host: Host, ejections: &str) -> bool {
    let property = match host {
        Host::Envoy => return false,
        Host::ManagedEnvoy => EJECTIONS_PROPERTY,
        Host::Nginx | Host::NgxWasm => EJECTIONS.property,
    };
    host::set_property(property, ejections)
}

/// Leaves it where the contexts of retries find it: what was decided belongs to this one.
pub(crate) fn set_retry_owner(context: u32) -> bool {
    host::set_property(OWNER.property, &context.to_string())
}

/// The context that what was decided for this retry belongs to.
pub(crate) fn retry_owner() -> Option<u32> {
    String::from_utf8(host::property(OWNER.property.as_bytes())?)
        .ok()?
        .parse()
        .ok()
}

/// Removes an endpoint or a backend that a client may have named; only a drop-in Envoy takes it from a header of clients.
pub(crate) fn clear_choice(host: Host) {
    if host != Host::Envoy {
        return;
    }
    for name in [ENDPOINT_HEADER, BACKEND_HEADER] {
        host::remove_header(MapType::HttpRequestHeaders, name);
    }
}
