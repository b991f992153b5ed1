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
    /// Where its Service itself answers, for a data plane that chooses no pod for a copy.
    #[serde(skip_serializing_if = "is_default")]
    pub address: Option<SocketAddr>,
    /// Copies have no body. Only nginx sends such.
    #[serde(skip_serializing_if = "is_default")]
    pub bodiless: bool,
}
