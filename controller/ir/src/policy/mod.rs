//! What holds for the requests of a location, beside where they go.

mod proxy;

use serde::Serialize;

pub use proxy::{Retries, RetryOn, Timeouts};

/// Everything that annotations say about the requests of one location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Patience with the pods.
    pub timeouts: Timeouts,
    /// What is tried again, and how often.
    pub retries: Retries,
}
