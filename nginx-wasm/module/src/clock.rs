//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use sluice_filter_core::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp::from_nanos(now_ns())
}

/// Nanoseconds since 1970.
pub(crate) fn now_ns() -> u64 {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}
