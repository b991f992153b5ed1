//! Log of endpoints that pass or fail: who owns them decides how often, so a namespace has a few lines.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use sluice_fair::LineLimit;
use tracing::info;

use crate::probe::Target;

/// Lines about endpoints of a namespace at once, after a quiet time.
const BURST: u32 = 100;
/// Between two lines of a namespace, once those are used up.
const PACE: Duration = Duration::from_secs(1);

/// Lines that each namespace may still write. One that has been quiet is not remembered.
#[derive(Debug, Default)]
pub(crate) struct ChangeLog(HashMap<String, LineLimit>);

impl ChangeLog {
    /// Logs that an endpoint passes again, or why it fails.
    pub(crate) fn record(&mut self, target: &Target, result: &Result<(), String>) {
        let Some(unlogged) = self.admit(&target.targets.namespace, Instant::now()) else {
            return;
        };
        let before = match unlogged {
            0 => String::new(),
            count => format!("; {count} changes of its namespace before this one are not logged"),
        };
        match result {
            Ok(()) => info!("{target}: passes its health check again{before}"),
            Err(reason) => info!("{target}: fails its health check: {reason}{before}"),
        }
    }

    /// How many of a namespace were left out before this one; `None`: this one is left out, too.
    fn admit(&mut self, namespace: &str, now: Instant) -> Option<u64> {
        self.0.retain(|_, limit| !limit.is_forgettable(now));
        let new = || LineLimit::new(BURST, PACE);
        let limit = self.0.entry(namespace.to_owned()).or_insert_with(new);
        limit.admit(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_have_their_own_lines_and_quiet_ones_are_forgotten() {
        let (mut log, start) = (ChangeLog::default(), Instant::now());
        let admitted = (0..1_000).filter(|_| log.admit("crowd", start).is_some());
        assert_eq!(admitted.count(), 100);
        assert_eq!(log.admit("shop", start), Some(0));
        assert_eq!(log.admit("crowd", start + PACE), Some(900));
        assert_eq!(log.0.len(), 1);
        log.admit("shop", start + PACE * 200);
        assert_eq!(log.0.len(), 1);
    }
}
