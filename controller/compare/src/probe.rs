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
    /// The request as reports have it, with headers that are not a client's, and values that rules of canaries name. Others may be secrets,
    /// though canaries decide by them.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = printable(&self.request.to_string());
        let headers = self.request.headers.iter().filter_map(|(name, value)| {
            let is_rule = || {
                self.context
                    .canary_headers
                    .contains(&(name.clone(), value.clone()))
            };
            (self.is_ours || is_rule()).then(|| format!("{name}: {value}"))
        });
        let cookies = self.context.canary_cookies.iter().filter_map(|name| {
            let value = self.request.cookie(name).filter(|_| !self.is_ours)?;
            let is_rule = value == "always" || value == "never";
            is_rule.then(|| format!("cookie: {name}={value}"))
        });
        let all: Vec<String> = headers.chain(cookies).collect();
        if !all.is_empty() {
            text += &format!(" ({})", printable(&all.join(", ")));
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
