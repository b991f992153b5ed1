//! What holds for the requests of a location, beside where they go.

mod access;
mod answers;
mod bodies;
mod cors;
mod errors;
mod guard;
mod limits;
mod mirror;
mod proxy;
mod question;

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{Expression, Header, HeaderName, Traced, is_default};

pub use access::Access;
pub use answers::{Replaced, Rewritten};
pub use bodies::Buffering;
pub use cors::{Cors, Origin, Origins};
pub use errors::{ErrorPages, Place};
pub use guard::{Guard, Passwords};
pub use limits::{Connections, Limits, Rate};
pub use mirror::Mirror;
pub use proxy::{Retries, RetryOn, Timeouts};
pub use question::{Memory, Question};

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
    pub largest_body: Option<u64>,
    /// Who may come in.
    #[serde(skip_serializing_if = "is_default")]
    pub access: Access,
    /// What is asked of them.
    #[serde(skip_serializing_if = "is_default")]
    pub guard: Option<Guard>,
    /// Request headers that only an authentication service sets: pods see no client's own, whether the service is asked or
    /// not. In lower case, sorted.
    #[serde(skip_serializing_if = "is_default")]
    pub auth_headers: Vec<HeaderName>,
    /// What pages of other origins may do.
    #[serde(skip_serializing_if = "is_default")]
    pub cors: Option<Cors>,
    /// How much one client may ask for.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Option<Limits>,
    /// KiB of one answer in a second.
    #[serde(skip_serializing_if = "is_default")]
    pub rate: Option<NonZeroU32>,
    /// KiB of an answer that come before [`Policy::rate`] holds.
    #[serde(skip_serializing_if = "is_default")]
    pub rate_after: u32,
    /// Pods are spoken to with HTTP/1.0.
    #[serde(skip_serializing_if = "is_default")]
    pub http10: bool,
    /// What is kept of bodies.
    #[serde(skip_serializing_if = "is_default")]
    pub buffering: Buffering,
    /// What of the answers of pods is written anew.
    #[serde(skip_serializing_if = "is_default")]
    pub rewritten: Rewritten,
    /// Who gets a copy.
    #[serde(skip_serializing_if = "is_default")]
    pub mirror: Option<Mirror>,
    /// Nothing is written down about its requests.
    #[serde(skip_serializing_if = "is_default")]
    pub unlogged: bool,
    /// The spans of its requests.
    #[serde(skip_serializing_if = "is_default")]
    pub traced: Traced,
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
            largest_body: USUAL_BODY,
            access: Access::default(),
            guard: None,
            auth_headers: Vec::new(),
            cors: None,
            limits: None,
            rate: None,
            rate_after: 0,
            http10: false,
            buffering: Buffering::default(),
            rewritten: Rewritten::default(),
            mirror: None,
            unlogged: false,
            traced: Traced::default(),
        }
    }
}
