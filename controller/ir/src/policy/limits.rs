//! Rate and connection limits for each client.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{Cidr, is_default};

/// Limits for each client address, counted by each data plane for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientLimits {
    /// Routes with the same zone are counted together.
    pub zone: String,
    /// Requests in a second.
    #[serde(skip_serializing_if = "is_default")]
    pub per_second: Option<Rate>,
    /// Requests in a minute.
    #[serde(skip_serializing_if = "is_default")]
    pub per_minute: Option<Rate>,
    /// Concurrent requests.
    #[serde(skip_serializing_if = "is_default")]
    pub connections: Option<ConnectionLimit>,
    /// Networks without limits.
    #[serde(skip_serializing_if = "is_default")]
    pub exempt: Vec<Cidr>,
    /// Status of requests over a rate limit.
    pub status: u16,
}

impl ClientLimits {
    /// True if there is a rate limit.
    #[must_use]
    pub fn has_rates(&self) -> bool {
        self.per_second.is_some() || self.per_minute.is_some()
    }
}

/// Limit of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectionLimit {
    /// Concurrent requests.
    pub max: NonZeroU32,
    /// Status of requests over the limit.
    pub status: u16,
}

/// Rate limit with a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Requests in the period of the limit.
    pub requests: NonZeroU32,
    /// Additional requests at once.
    pub burst: u32,
}
