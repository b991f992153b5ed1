//! How much one client may ask for.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{Cidr, is_default};

/// Counted for each client address, in each data plane by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientLimits {
    /// Locations with the same zone are counted together.
    pub zone: String,
    /// Requests in a second.
    #[serde(skip_serializing_if = "is_default")]
    pub per_second: Option<Rate>,
    /// Requests in a minute.
    #[serde(skip_serializing_if = "is_default")]
    pub per_minute: Option<Rate>,
    /// Requests in process at a time.
    #[serde(skip_serializing_if = "is_default")]
    pub connections: Option<ConnectionLimit>,
    /// Who may ask for more.
    #[serde(skip_serializing_if = "is_default")]
    pub exempt: Vec<Cidr>,
    /// The status of what is too much in a second or a minute.
    pub status: u16,
}

impl ClientLimits {
    /// Whether there is a limit over time.
    #[must_use]
    pub fn has_rates(&self) -> bool {
        self.per_second.is_some() || self.per_minute.is_some()
    }
}

/// So many at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ConnectionLimit {
    /// In process.
    pub max: NonZeroU32,
    /// The status of what is too much.
    pub status: u16,
}

/// So many, and so many more at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// In the time that the limit is for.
    pub requests: NonZeroU32,
    /// Beyond that.
    pub burst: u32,
}
