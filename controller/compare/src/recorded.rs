//! A request that was recorded: a line of an access log, or an entry of a HAR file.

use hyper::body::Bytes;
use sluice_explain::Request;

/// Headers of one connection, of its sender, or that are made anew for each request.
const NOT_SENT: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A recorded request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The request; without a host it is one of [`Recorded::upstream`].
    pub request: Request,
    /// The record says `http` or `https`.
    pub has_scheme: bool,
    /// ingress-nginx's name of the upstream (`namespace-service-port`), where the record has no host.
    pub upstream: Option<String>,
    /// Its body; `None`: the record does not say.
    pub body: Option<Bytes>,
}

/// True if a header of a recorded request is sent again.
pub(crate) fn is_sent(name: &str) -> bool {
    !name.starts_with(':')
        && !NOT_SENT
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other))
}
