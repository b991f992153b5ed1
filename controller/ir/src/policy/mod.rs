//! What holds for the requests of a location, beside where they go.

mod proxy;

use serde::Serialize;

use crate::is_default;

pub use proxy::{Retries, RetryOn, Timeouts};

/// Everything that annotations say about the requests of one location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
}
