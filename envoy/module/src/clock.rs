//! The clocks of the process.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sluice_filter_core::Timestamp;

/// The time of day, as Envoy gives it to wasm.
pub(crate) fn now() -> Timestamp {
    let elapsed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    timestamp(elapsed)
}

/// Since a moment of this process; nobody sets it back.
pub(crate) fn monotonic() -> Timestamp {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    timestamp(BEGIN.elapsed())
}

fn timestamp(elapsed: Duration) -> Timestamp {
    Timestamp::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}
