//! A copy of each request.

use std::net::SocketAddr;

use serde::Serialize;

use crate::{BackendId, is_default};

/// Each request is sent there too, and nobody waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mirror {
    /// Who gets the copy.
    pub backend: BackendId,
    /// The `Host` of the copy.
    pub host: String,
    /// Where its Service itself answers, for a data plane that chooses no pod for a copy, if it has such an address.
    #[serde(skip_serializing_if = "is_default")]
    pub address: Option<SocketAddr>,
    /// Copies have no body. Only nginx sends such.
    #[serde(skip_serializing_if = "is_default")]
    pub bodiless: bool,
}

impl Mirror {
    /// Names the requests that copies are, as [`crate::RouteId`] names those of a location. It is none's: hosts have no
    /// `!`.
    #[must_use]
    pub fn route(backend: &BackendId) -> String {
        format!("!copies {backend}")
    }
}
