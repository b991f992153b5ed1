//! A copy of each request.

use serde::Serialize;

use crate::BackendId;

/// Each request is sent there too, and nobody waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mirror {
    /// Who gets the copy.
    pub backend: BackendId,
    /// The `Host` of the copy.
    pub host: String,
}
