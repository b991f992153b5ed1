//! Headers and variables of a request, by the names that both forms of the filter have for them.

use sluice_host_table::variables;
use sluice_ngx::LiveRequest;

/// Variables with the outcome of all tries of a request: addresses, statuses, and seconds to connect and to respond.
pub(crate) const OUTCOME: [&str; 4] = [
    "upstream_addr",
    "upstream_status",
    "upstream_connect_time",
    "upstream_response_time",
];

/// The first line of a request header, or what HTTP/2 calls a pseudo header.
pub(crate) fn request_header<'a>(live: &'a LiveRequest<'_>, name: &[u8]) -> Option<&'a [u8]> {
    let [method, scheme, target] = live.request_line();
    match name {
        b":method" => Some(method),
        b":scheme" => Some(scheme),
        b":path" => Some(target),
        b":authority" => live.request_header(b"host"),
        name => live.request_header(name),
    }
}

/// The value of a variable by nginx's name for it, or by that of a property.
pub(crate) fn variable<'a>(live: &'a mut LiveRequest<'_>, name: &[u8]) -> Option<&'a [u8]> {
    live.variable(match name {
        // nginx knows the names alone that are in its configuration.
        b"server_name" => variables::NAME.as_bytes(),
        name => name,
    })
}
