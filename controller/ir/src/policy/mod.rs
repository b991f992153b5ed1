//! What holds for the requests of a location, beside where they go.

mod authentication;
mod buffering;
mod cors;
mod errors;
mod external_auth;
mod ip_access;
mod limits;
mod mirror;
mod response_rewrite;
mod timeouts;

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{Expression, Header, HeaderName, SpanPolicy, is_default};

pub use authentication::{Authentication, BasicAuth};
pub use buffering::Buffering;
pub use cors::{Cors, Origin, Origins};
pub use errors::{ErrorContext, ErrorPages};
pub use external_auth::{AuthCache, ExternalAuth};
pub use ip_access::IpAccess;
pub use limits::{ClientLimits, ConnectionLimit, Rate};
pub use mirror::{Fraction, Mirror};
pub use response_rewrite::{Replacement, ResponseRewrite};
pub use timeouts::{Retries, RetryOn, Timeouts};

/// Everything that annotations say about the requests of one location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Patience with the pods.
    #[serde(skip_serializing_if = "is_default")]
    pub timeouts: Timeouts,
    /// What is tried again, and how often.
    #[serde(skip_serializing_if = "is_default")]
    pub retries: Retries,
    /// Where the path is rewritten, pods learn from this header what was there.
    #[serde(skip_serializing_if = "is_default")]
    pub forwarded_prefix: Option<String>,
    /// The `Host` that pods see.
    #[serde(skip_serializing_if = "is_default")]
    pub host: Option<Expression>,
    /// The `Connection` that pods see.
    #[serde(skip_serializing_if = "is_default")]
    pub connection: Option<String>,
    /// Set in answers to clients.
    #[serde(skip_serializing_if = "is_default")]
    pub response_headers: Vec<Header>,
    /// Bytes of a request's body; `None` is no limit.
    #[serde(skip_serializing_if = "is_usual_body")]
    pub max_body_size: Option<u64>,
    /// Who may come in.
    #[serde(skip_serializing_if = "is_default")]
    pub ip_access: IpAccess,
    /// What is asked of them.
    #[serde(skip_serializing_if = "is_default")]
    pub authentication: Option<Authentication>,
    /// Request headers that only an authentication service sets: pods see no client's own, whether the service is asked or
    /// not. In lower case, sorted.
    #[serde(skip_serializing_if = "is_default")]
    pub auth_headers: Vec<HeaderName>,
    /// What pages of other origins may do.
    #[serde(skip_serializing_if = "is_default")]
    pub cors: Option<Cors>,
    /// How much one client may ask for.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Option<ClientLimits>,
    /// KiB of one answer in a second.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth_limit: Option<NonZeroU32>,
    /// KiB of an answer that come before [`Policy::bandwidth_limit`] holds.
    #[serde(skip_serializing_if = "is_default")]
    pub bandwidth_limit_after: u32,
    /// Pods are spoken to with HTTP/1.0.
    #[serde(skip_serializing_if = "is_default")]
    pub http10: bool,
    /// What is kept of bodies.
    #[serde(skip_serializing_if = "is_default")]
    pub buffering: Buffering,
    /// What of the answers of pods is written anew.
    #[serde(skip_serializing_if = "is_default")]
    pub response_rewrite: ResponseRewrite,
    /// Copies of requests.
    #[serde(skip_serializing_if = "is_default")]
    pub mirrors: Vec<Mirror>,
    /// Nothing is written down about its requests.
    #[serde(skip_serializing_if = "is_default")]
    pub access_log_off: bool,
    /// The spans of its requests.
    #[serde(skip_serializing_if = "is_default")]
    pub tracing: SpanPolicy,
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
            retries: Retries::default(),
            forwarded_prefix: None,
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
            tracing: SpanPolicy::default(),
        }
    }
}
