//! How many requests of one client may come in a time.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::Network;

/// Counted for each client address, in all workers of a data plane together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Routes with the same zone are counted together.
    pub zone: String,
    /// All of them hold.
    pub limits: Vec<Rate>,
    /// The status of those that are too much.
    pub status: u16,
    /// Client networks that are not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempt: Vec<Network>,
}

/// So many requests in so many seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Requests of the period.
    pub requests: NonZeroU32,
    /// The period. Limits of one zone differ in it.
    pub seconds: NonZeroU32,
    /// So many more at once.
    pub burst: u32,
}
