//! Names of headers that no snippet changes.

use sluice_ir::{Forwarded, HeaderName};

use super::forwarded;

/// Response headers that belong to the data plane, to sessions, or to the encoding of a body.
pub(super) const OF_RESPONSES: &[&str] = &[
    "connection",
    "content-encoding",
    "content-type",
    "date",
    "keep-alive",
    "location",
    "set-cookie",
    "trailer",
    "upgrade",
    "www-authenticate",
];

/// The same of requests.
pub(super) const OF_REQUESTS: &[&str] = &[
    "connection",
    "expect",
    "forwarded",
    "keep-alive",
    "proxy",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
    "x-real-ip",
    "x-request-id",
    "x-scheme",
];

/// Headers about the client, which Sluice sets; with the client's own they are read and written in different places.
const ABOUT_CLIENTS: &[&str] = &[OF_CERTIFICATES, "x-forwarded-", "x-original-"];
const OF_CERTIFICATES: &str = "ssl-client-";

/// Headers that no snippet changes, of requests and of responses, for the documentation; `*` stands for any end.
#[must_use]
pub fn own_headers() -> [(&'static str, Vec<String>); 2] {
    let certificates = format!("{OF_CERTIFICATES}*");
    let of_requests = forwarded::own().map(str::to_owned).chain([certificates]);
    let all = [
        ("requests", OF_REQUESTS, of_requests.collect::<Vec<_>>()),
        ("responses", OF_RESPONSES, Vec::new()),
    ];
    all.map(|(title, own, about_clients)| {
        let mut names: Vec<String> = own.iter().map(|name| (*name).to_owned()).collect();
        names.extend(about_clients.into_iter().chain(HeaderName::reserved()));
        names.sort_unstable();
        (title, names)
    })
}

/// A header of requests that is not what the client sent once Sluice has it.
pub(in crate::snippet) fn is_reserved_in_requests(name: &HeaderName) -> bool {
    is_reserved(name, OF_REQUESTS)
}

pub(super) fn is_reserved(name: &HeaderName, reserved: &[&str]) -> bool {
    is_one_of(name, reserved) || is_about_clients(name)
}

/// A header of responses that no snippet changes. Those about clients tell them what they have said themselves.
pub(super) fn is_reserved_in_responses(name: &HeaderName) -> bool {
    is_one_of(name, OF_RESPONSES)
}

fn is_one_of(name: &HeaderName, names: &[&str]) -> bool {
    names.iter().any(|other| name.is_alike(other))
}

/// A header that pods are told by Sluice alone.
pub(super) fn is_own_in_requests(name: &HeaderName, settings: &Forwarded) -> bool {
    is_one_of(name, OF_REQUESTS) || is_of_certificates(name) || forwarded::is_own(name, settings)
}

/// A header about a client's certificate, to CGI and WSGI in any spelling.
fn is_of_certificates(name: &HeaderName) -> bool {
    let name = name.as_str().to_ascii_lowercase().replace('_', "-");
    name.starts_with(OF_CERTIFICATES)
}

/// A header that Sluice sets for pods. To CGI and WSGI an underscore is a hyphen.
pub(in crate::snippet) fn is_about_clients(name: &HeaderName) -> bool {
    let name = name.as_str().to_ascii_lowercase().replace('_', "-");
    ABOUT_CLIENTS.iter().any(|prefix| name.starts_with(prefix))
}
