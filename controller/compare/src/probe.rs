//! A request that both data planes are asked, and whose it is.

use hyper::body::Bytes;
use sluice_explain::Request;

use crate::site::Context;

/// A request, and everything that is known about it before it is sent.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The request.
    pub request: Request,
    /// Its body.
    pub body: Bytes,
    /// The Ingress that takes it, and what that means for its responses.
    pub context: Context,
}

/// True if a method changes nothing (RFC 9110, 9.2.1).
#[must_use]
pub fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// True if a request of this method usually has a body.
pub(crate) fn has_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}
