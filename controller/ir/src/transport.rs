//! How a pod is spoken to: what a data plane needs to know before it connects.

use serde::Serialize;

/// Two locations that speak differently to the same pods have two backends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Transport {
    /// Seconds until a connection is made.
    pub connect_timeout: u32,
}

impl Default for Transport {
    fn default() -> Self {
        Transport { connect_timeout: 5 }
    }
}
