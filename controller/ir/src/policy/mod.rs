//! Policies of a route: everything about its requests but their match and their destination.

mod authentication;
mod buffering;
mod cors;
mod errors;
mod external_auth;
mod fastcgi;
mod ip_access;
mod limits;
mod mirror;
mod response_rewrite;
mod timeouts;

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{Expression, Header, HeaderName, SpanPolicy, Waf, is_default};

pub use authentication::{Authentication, PasswordAuth, PasswordScheme, UserFile};
pub use buffering::Buffering;
pub use cors::{AllowedOrigin, AllowedOrigins, Cors};
pub use errors::ErrorPages;
pub use external_auth::{AuthCache, ExternalAuth, UpstreamHeader};
pub use fastcgi::FastCgi;
pub use ip_access::IpAccess;
pub use limits::{ClientLimits, ConnectionLimit, Rate};
pub use mirror::{Fraction, Mirror, MirrorPath};
pub use response_rewrite::{Replacement, ResponseRewrite, Substitution, SubstitutionPart};
pub use timeouts::{ClientTimeouts, Retries, RetryOn, Timeouts};

/// Policies of one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Timeouts towards upstreams.
    #[serde(skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
    /// Timeouts of clients.
    #[serde(skip_serializing_if = "is_default")]
    pub client_timeouts: ClientTimeouts,
    /// Retries.
    #[serde(skip_serializing_if = "is_default")]
    pub retries: Retries,
    /// `Host` that upstreams see.
    #[serde(skip_serializing_if = "is_default")]
    pub host: Option<Expression>,
    /// `Connection` that upstreams see.
    #[serde(skip_serializing_if = "is_default")]
    pub connection: Option<String>,
    /// Response headers to set.
    #[serde(skip_serializing_if = "is_default")]
    pub response_headers: Vec<Header>,
    /// Largest request body in bytes; `None` is no limit.
    #[serde(skip_serializing_if = "is_usual_body")]
    pub max_body_size: Option<u64>,
    /// IP allow and deny lists.
    #[serde(skip_serializing_if = "is_default")]
    pub ip_access: IpAccess,
    /// Authentication.
    #[serde(skip_serializing_if = "is_default")]
    pub authentication: Option<Authentication>,
    /// Request headers that only an authentication service sets: pods see no client's own, whether the service is asked or
    /// not. In lower case, sorted.
    #[serde(skip_serializing_if = "is_default")]
    pub auth_headers: Vec<HeaderName>,
    /// Cross-origin resource sharing.
    #[serde(skip_serializing_if = "is_default")]
    pub cors: Option<Cors>,
    /// Limits for each client.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Option<ClientLimits>,
    /// KiB per second of one response.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth_limit: Option<NonZeroU32>,
    /// KiB of a response before [`Policy::bandwidth_limit`] applies.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth_limit_after: u32,
    /// HTTP/1.0 towards upstreams.
    #[serde(skip_serializing_if = "is_default")]
    pub http10: bool,
    /// Buffering of bodies.
    #[serde(skip_serializing_if = "is_default")]
    pub buffering: Buffering,
    /// Rewriting of locations in responses.
    #[serde(skip_serializing_if = "is_default")]
    pub response_rewrite: ResponseRewrite,
    /// Copies of requests.
    #[serde(skip_serializing_if = "is_default")]
    pub mirrors: Vec<Mirror>,
    /// Requests are not logged.
    #[serde(skip_serializing_if = "is_default")]
    pub access_log_off: bool,
    /// Parameters of FastCGI.
    #[serde(skip_serializing_if = "is_default")]
    pub fastcgi: FastCgi,
    /// Web application firewall; `None` is none.
    #[serde(skip_serializing_if = "is_default")]
    pub waf: Option<Waf>,
    /// Spans of its requests.
    #[serde(skip_serializing_if = "is_default")]
    pub tracing: SpanPolicy,
}

impl Policy {
    /// True if a firewall of its own may reject requests.
    #[must_use]
    pub fn rejects_attacks(&self) -> bool {
        self.waf.as_ref().is_some_and(|waf| waf.may_block(None))
    }
}

/// ingress-nginx: `client_max_body_size 1m`.
const USUAL_BODY: Option<u64> = Some(1 << 20);

fn is_usual_body(largest: &Option<u64>) -> bool {
    *largest == USUAL_BODY
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            timeouts: Timeouts::default(),
            client_timeouts: ClientTimeouts::default(),
            retries: Retries::default(),
            host: None,
            connection: None,
            response_headers: Vec::new(),
            max_body_size: USUAL_BODY,
            ip_access: IpAccess::default(),
            authentication: None,
            auth_headers: Vec::new(),
            cors: None,
            limits: None,
            bandwidth_limit: None,
            bandwidth_limit_after: 0,
            http10: false,
            buffering: Buffering::default(),
            response_rewrite: ResponseRewrite::default(),
            mirrors: Vec::new(),
            access_log_off: false,
            fastcgi: FastCgi::default(),
            waf: None,
            tracing: SpanPolicy::default(),
        }
    }
}
