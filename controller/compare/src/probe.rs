//! A request that both data planes are asked, and whose it is.

use hyper::body::Bytes;
use sluice_explain::Request;

use crate::site::Context;
use crate::text::printable;

/// A request, and everything that is known about it before it is sent.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The request.
    pub request: Request,
    /// Its body.
    pub body: Bytes,
    /// The Ingress that takes it, and what that means for its responses.
    pub context: Context,
    /// It was made here: no credentials of clients are in its headers.
    pub is_ours: bool,
}

impl Probe {
    /// The request as reports have it, with headers that are not a client's.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = printable(&self.request.to_string());
        if self.is_ours && !self.request.headers.is_empty() {
            let headers = self.request.headers.iter();
            let headers = headers.map(|(name, value)| format!("{name}: {value}"));
            let headers: Vec<String> = headers.collect();
            text += &format!(" ({})", printable(&headers.join(", ")));
        }
        text
    }
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
