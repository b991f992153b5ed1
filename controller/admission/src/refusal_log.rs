//! Log of refusals: in few lines and short ones. Whoever reaches the webhook may have as much refused as they like, and the log
//! is on the disk of the node.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_fair::LineLimit;
use tracing::info;

/// Lines that may be written at once after a quiet time.
const BURST: u32 = 20;
/// Between two lines, once the burst is used up.
const PACE: Duration = Duration::from_secs(10);

/// The log of refusals.
#[derive(Debug)]
pub(super) struct RefusalLog(Mutex<LineLimit>);

impl Default for RefusalLog {
    fn default() -> Self {
        RefusalLog(Mutex::new(LineLimit::new(BURST, PACE)))
    }
}

impl RefusalLog {
    /// Logs a refusal, unless there are too many.
    pub(super) fn refused(&self, object: &str, reason: &str) {
        let mut limit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = limit.admit(Instant::now());
        drop(limit);
        let (object, reason) = (in_one_line(object), in_one_line(reason));
        match admitted {
            None => {}
            Some(0) => info!("admission refused {object}: {reason}"),
            Some(unlogged) => info!(
                "admission refused {object}: {reason}; {unlogged} refusals before this one are not logged"
            ),
        }
    }
}

/// A text of a question that need not have come from the API server, which knows no such names.
fn in_one_line(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_begins_no_line_of_its_own() {
        assert_eq!(in_one_line("a\nb\u{1b}[1m"), "a\u{fffd}b\u{fffd}[1m");
    }
}
