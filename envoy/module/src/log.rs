//! The delta log of the process.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_filter_config::{Tables as Update, Version};
use sluice_filter_core::{ApplyError, News, SharedLog};

use crate::lock::lock;

static LOG: Mutex<SharedLog> = Mutex::new(SharedLog::new());
/// Number of the last update; workers compare it before they take the lock.
static LATEST: AtomicU64 = AtomicU64::new(0);

/// The number of the last update; 0 before the first.
pub(crate) fn latest() -> u64 {
    LATEST.load(Ordering::Acquire)
}

/// The version of the tables.
pub(crate) fn version() -> Option<Version> {
    lock(&LOG).version()
}

/// Makes an update known to all workers.
pub(crate) fn publish(update: Update) -> Result<(), ApplyError> {
    let mut log = lock(&LOG);
    LATEST.store(log.publish(update)?, Ordering::Release);
    Ok(())
}

/// News for a worker that has the updates up to a number, and the number that it has with them.
pub(crate) fn since(number: u64) -> Option<(News, u64)> {
    lock(&LOG).since(number)
}
