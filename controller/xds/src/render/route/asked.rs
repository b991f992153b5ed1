//! Parts of a request in redirects: as clients know them, where what is in front is believed. As formats.

use sluice_ir::Forwarded;

use crate::render::cel;

/// The scheme, from trusted headers only.
pub(super) const SCHEME: &str = "%REQ(x-forwarded-proto)%";
const AUTHORITY: &str = "%REQ(:authority)%";
/// The first host of a list, and the same without its port.
const FIRST_HOST: &str = r"^\s*([^,\s]+).*$";
const FIRST_HOSTNAME: &str = r"^\s*(\[[^\],\s]*\]|[^\]\[,\s:/?#@]+).*$";

/// Scheme and host of a request as clients know them, with the port.
pub(super) fn here(forwarded: &Forwarded) -> String {
    let host = match forwarded.trust_forwarded {
        true => first_believed(FIRST_HOST, "request.host"),
        false => AUTHORITY.to_owned(),
    };
    format!("{SCHEME}://{host}")
}

/// The host of a request without its port.
pub(super) fn hostname(is_believed: bool) -> String {
    let asked = cel::regex_capture("request.host", FIRST_HOSTNAME);
    match is_believed {
        true => first_believed(FIRST_HOSTNAME, &asked),
        false => format!("%CEL({asked})%"),
    }
}

/// The first of the believed hosts.
fn first_believed(pattern: &str, otherwise: &str) -> String {
    let hosts = cel::header("x-forwarded-host");
    let first = cel::regex_capture(&hosts, pattern);
    let pattern = cel::string_literal(pattern);
    format!("%CEL({hosts}.matches({pattern}) ? {first} : {otherwise})%")
}

/// The port of a request for URLs: what is in front may say that it ends TLS, and not at which port.
pub(super) fn port() -> String {
    let [scheme, port] = ["x-forwarded-proto", "x-forwarded-port"].map(cel::header);
    let is = |s: &str, p: &str| format!("{scheme} == '{s}' && {port} == '{p}'");
    let (https, http) = (is("https", "80"), is("http", "443"));
    format!("%CEL({https} ? '443' : {http} ? '80' : {port})%")
}

/// The path without a slash at its end, where there is no query and nothing was decoded.
pub(super) fn path_without_slash() -> String {
    let path = cel::regex_capture("request.path", "^(.*?)/?$");
    format!("%CEL({path})%")
}
