//! Error pages: responses that an error service replaces.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{BackendId, Header, is_default};

/// Responses with these statuses are replaced by the response of an error service, status included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorPages {
    /// Statuses of upstreams and of the data plane itself; at least one.
    pub statuses: BTreeSet<u16>,
    /// Responses of upstreams are left as they are.
    #[serde(skip_serializing_if = "is_default")]
    pub keeps_upstreams: bool,
    /// Error service that answers instead; `None` is a plain 404.
    #[serde(skip_serializing_if = "is_default")]
    pub backend: Option<BackendId>,
    /// Request headers that describe the route to the error service.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: Vec<Header>,
}
