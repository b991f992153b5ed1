//! External authentication: a service that decides about requests.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::{BackendId, Expression, Header, HeaderName, is_default};

/// External authentication of each request: a 2xx response allows it, 401 and 403 go to the client, anything
/// else is a failure, which denies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExternalAuth {
    /// URL of the service, with its scheme, and with its host unless that is the client's.
    pub url: Expression,
    /// Backend of the URL's host; `None`: the name is resolved.
    #[serde(skip_serializing_if = "is_default")]
    pub backend: Option<BackendId>,
    /// Method, if it is not `GET`.
    #[serde(skip_serializing_if = "is_default")]
    pub method: Option<String>,
    /// URL that clients are redirected to instead of a 401.
    #[serde(skip_serializing_if = "is_default")]
    pub signin_url: Option<Expression>,
    /// Request headers that upstreams get from its response, in place of the client's.
    #[serde(skip_serializing_if = "is_default")]
    pub upstream_headers: Vec<UpstreamHeader>,
    /// `Host`, if it is not that of the URL.
    #[serde(skip_serializing_if = "is_default")]
    pub host: Option<Expression>,
    /// Request headers to the service.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Vec<Header>,
    /// URL that the service may redirect a client back to.
    pub redirect_url: Expression,
    /// Cookies of the service go to the client, whatever the status of the upstream.
    #[serde(skip_serializing_if = "is_default")]
    pub always_set_cookie: bool,
    /// Cache of responses.
    #[serde(skip_serializing_if = "is_default")]
    pub cache: Option<AuthCache>,
}

impl ExternalAuth {
    /// True if the method is idempotent: responses may be cached, and connections reused.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.method
            .as_deref()
            .is_none_or(|method| matches!(method, "GET" | "HEAD"))
    }
}

/// Request header with the value of a response header of an authentication service. In lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamHeader {
    /// Name of the request header.
    pub name: HeaderName,
    /// Name of the response header.
    pub source: HeaderName,
}

impl UpstreamHeader {
    /// Headers with the same name in both.
    #[must_use]
    pub fn same(names: Vec<HeaderName>) -> Vec<Self> {
        let same = |name: HeaderName| UpstreamHeader {
            source: name.clone(),
            name,
        };
        names.into_iter().map(same).collect()
    }
}

impl Serialize for UpstreamHeader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let UpstreamHeader { name, source } = self;
        if name == source {
            return name.serialize(serializer);
        }
        serializer.collect_str(&format_args!("{} from {}", name.as_str(), source.as_str()))
    }
}

/// Cache of responses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuthCache {
    /// Cache key: requests of a route with the same key have the same response.
    pub key: Expression,
    /// Seconds by status.
    pub ttl_by_status: BTreeMap<u16, u32>,
    /// Seconds for all other statuses; zero is no caching.
    #[serde(skip_serializing_if = "is_default")]
    pub default_ttl: u32,
}
