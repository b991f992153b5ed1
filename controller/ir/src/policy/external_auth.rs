//! External authentication: a service that says who may come in.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{BackendId, Expression, Header, HeaderName, is_default};

/// What is asked for each request, and what its answers mean: 2xx lets in, 401 and 403 are the client's answer, anything
/// else is a failure, which lets nobody in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalAuth {
    /// Where. Its scheme is written, and its host, if it is not the one that the client asked for.
    pub url: Expression,
    /// Whose pods have the host of the URL; `None`: it is looked up.
    #[serde(skip_serializing_if = "is_default")]
    pub backend: Option<BackendId>,
    /// Another method than `GET`.
    #[serde(skip_serializing_if = "is_default")]
    pub method: Option<String>,
    /// Where clients are sent instead of a 401.
    #[serde(skip_serializing_if = "is_default")]
    pub signin_url: Option<Expression>,
    /// Headers of the answer that pods see, instead of the client's.
    #[serde(skip_serializing_if = "is_default")]
    pub upstream_headers: Vec<HeaderName>,
    /// Another `Host` than that of the URL.
    #[serde(skip_serializing_if = "is_default")]
    pub host: Option<Expression>,
    /// Headers that are asked with.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Vec<Header>,
    /// Where the service may send a client back to.
    pub redirect_url: Expression,
    /// Cookies of the answer are the client's, whatever the pod says.
    #[serde(skip_serializing_if = "is_default")]
    pub always_set_cookie: bool,
    /// Answers are remembered.
    #[serde(skip_serializing_if = "is_default")]
    pub cache: Option<AuthCache>,
}

impl ExternalAuth {
    /// Whether asking twice is like asking once: answers may be remembered, and connections may be kept.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.method
            .as_deref()
            .is_none_or(|method| matches!(method, "GET" | "HEAD"))
    }
}

/// How long answers are remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuthCache {
    /// Requests of a location that agree in this have the same answer.
    pub key: Expression,
    /// By status, in seconds.
    pub ttl_by_status: BTreeMap<u16, u32>,
    /// For all others; zero: not at all.
    #[serde(skip_serializing_if = "is_default")]
    pub default_ttl: u32,
}
