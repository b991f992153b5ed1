//! Where each host says what it has matched, and where it looks for what was chosen.

use proxy_wasm::types::MapType;
use sluice_filter_config::Host;

use crate::host;

/// The request header that Envoy's `override_host` policy reads.
const ENDPOINT_HEADER: &str = "x-sluice-endpoint";
/// The same in an Envoy of our own.
const MANAGED_ENDPOINT_HEADER: &str = ":sluice-endpoint";
/// The variable that the nginx module's peer reads.
const ENDPOINT_VARIABLE: &[u8] = b"ngx.sluice_endpoint";
/// Where a location with canaries looks for its backend.
const CLUSTER_HEADER: &str = "x-sluice-cluster";
const MANAGED_CLUSTER_HEADER: &str = ":sluice-cluster";
const BACKEND_VARIABLE: &[u8] = b"ngx.sluice_backend";
const LOCATION_VARIABLE: &[u8] = b"ngx.sluice_location";
const TICKET_VARIABLE: &[u8] = b"ngx.sluice_ticket";
const ROUTE_NAME: &[u8] = b"xds\0route_name";

/// The id of the location that the data plane matched; `None` when it matched none of ours.
pub(crate) fn location(host: Host) -> Option<String> {
    let path = if host.is_nginx() {
        LOCATION_VARIABLE
    } else {
        ROUTE_NAME
    };
    host::property(path).and_then(|value| String::from_utf8(value).ok())
}

/// Whether the route that was found leads to pods. Envoy redirects and answers by itself only after the filter, and knows no
/// cluster then; nginx does so before.
pub(crate) fn is_forwarded(host: Host) -> bool {
    host.is_nginx() || host::property(b"xds\0cluster_name").is_some()
}

/// Says which backend the candidates belong to, where the location leaves that open.
pub(crate) fn set_backend(host: Host, backend: &str) -> bool {
    match host {
        Host::Envoy => host::set_request_header(CLUSTER_HEADER, backend.as_bytes()),
        Host::ManagedEnvoy => host::set_request_header(MANAGED_CLUSTER_HEADER, backend.as_bytes()),
        Host::Nginx | Host::NgxWasm => host::set_property(BACKEND_VARIABLE, backend),
    }
}

/// Leaves the ordered candidates where the data plane looks for them; `false` when the host refuses.
pub(crate) fn set_endpoints(host: Host, endpoints: &str) -> bool {
    match host {
        Host::Envoy => host::set_request_header(ENDPOINT_HEADER, endpoints.as_bytes()),
        Host::ManagedEnvoy => {
            host::set_request_header(MANAGED_ENDPOINT_HEADER, endpoints.as_bytes())
        }
        Host::Nginx | Host::NgxWasm => host::set_property(ENDPOINT_VARIABLE, endpoints),
    }
}

/// Leaves it where the contexts of retries find it: what was decided belongs to this one.
pub(crate) fn set_retry_owner(context: u32) -> bool {
    host::set_property(TICKET_VARIABLE, &context.to_string())
}

/// The context that what was decided for this retry belongs to.
pub(crate) fn retry_owner() -> Option<u32> {
    String::from_utf8(host::property(TICKET_VARIABLE)?)
        .ok()?
        .parse()
        .ok()
}

/// Removes an endpoint or a backend that a client may have named; only somebody else's Envoy takes it from a header of clients.
pub(crate) fn clear_choice(host: Host) {
    if host != Host::Envoy {
        return;
    }
    for name in [ENDPOINT_HEADER, CLUSTER_HEADER] {
        host::remove_header(MapType::HttpRequestHeaders, name);
    }
}
