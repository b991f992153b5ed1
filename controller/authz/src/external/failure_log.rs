//! Authentication services that cannot be asked, of each namespace once a minute: clients get 500 for it, and nobody else hears why.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::{debug, warn};

/// How often a namespace is said.
const INTERVAL: Duration = Duration::from_mins(1);

/// When a failure of each namespace was said last.
#[derive(Debug, Default)]
pub(super) struct FailureLog(Mutex<HashMap<String, Instant>>);

impl FailureLog {
    /// Says a failure, if it is time for one.
    pub(super) fn log(&self, namespace: &str, route: &str, error: &anyhow::Error, now: Instant) {
        if self.is_due(namespace, now) {
            warn!(
                "external authentication of route {route} (namespace {namespace}): its service cannot be asked, so clients get 500: {error:#}"
            );
        } else {
            debug!(
                "external authentication of route {route} (namespace {namespace}): its service cannot be asked: {error:#}"
            );
        }
    }

    fn is_due(&self, namespace: &str, now: Instant) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Instant| now.duration_since(*at) < INTERVAL;
        if said.get(namespace).is_some_and(is_recent) {
            return false;
        }
        said.retain(|_, at| is_recent(at));
        said.insert(namespace.to_owned(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_namespace_is_said_once_a_minute() {
        let (log, start) = (FailureLog::default(), Instant::now());
        let due =
            |namespace: &str, seconds| log.is_due(namespace, start + Duration::from_secs(seconds));
        assert!(due("a", 0) && due("b", 1));
        assert!(!due("a", 59) && !due("b", 60));
        assert!(due("a", 60) && due("b", 61));
    }
}
