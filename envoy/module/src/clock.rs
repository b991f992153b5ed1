//! The clock of the process.

use std::time::{SystemTime, UNIX_EPOCH};

use sluice_filter_core::Timestamp;

/// The time of day, as Envoy gives it to wasm.
pub(crate) fn now() -> Timestamp {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}
