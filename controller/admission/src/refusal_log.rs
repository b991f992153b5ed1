//! Log of refusals: in few lines and short ones. Whoever reaches the webhook may have as much refused as they like, and the log
//! is on the disk of the node.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::info;

/// Lines that may be written at once after a quiet time.
const BURST: u32 = 20;
/// Between two lines, once the burst is used up.
const PACE: Duration = Duration::from_secs(10);

/// The log of refusals.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<LineLimit>);

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

/// A bucket that fills with time.
#[derive(Debug)]
struct LineLimit {
    left: u32,
    /// Lines before this have been counted in.
    since: Option<Instant>,
    unlogged: u64,
}

impl Default for LineLimit {
    fn default() -> Self {
        LineLimit {
            left: BURST,
            since: None,
            unlogged: 0,
        }
    }
}

impl LineLimit {
    /// How many were left out before this line; `None`: this one is left out, too.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(now);
        let periods = now.saturating_duration_since(since).as_millis() / PACE.as_millis();
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        if periods > 0 {
            self.left = self.left.saturating_add(periods).min(BURST);
            self.since = since
                .checked_add(PACE.saturating_mul(periods))
                .or(Some(now));
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.unlogged))
            }
            None => {
                self.unlogged += 1;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pauses between crowds of refusals, in quarters of the pace.
    const PAUSES: [u32; 4] = [0, 1, 5, 400];
    const CROWD: u32 = 15;
    const CROWDS: u32 = 6;

    /// In every sequence of pauses.
    #[test]
    fn lines_are_few_and_each_refusal_is_logged_or_counted() {
        let start = Instant::now();
        for sequence in 0..PAUSES.len().pow(CROWDS) {
            let (mut limit, mut rest, mut quarters) = (LineLimit::default(), sequence, 0);
            let (mut lines, mut counted) = (0, 0);
            for _ in 0..CROWDS {
                quarters += PAUSES[rest % PAUSES.len()];
                rest /= PAUSES.len();
                for _ in 0..CROWD {
                    if let Some(unlogged) = limit.admit(start + PACE * quarters / 4) {
                        lines += 1;
                        counted += unlogged;
                    }
                }
                assert!(lines <= BURST + quarters / 4, "{sequence}");
                let all = u64::from(lines) + counted + limit.unlogged;
                assert_eq!(all % u64::from(CROWD), 0, "{sequence}");
            }
            let all = u64::from(lines) + counted + limit.unlogged;
            assert_eq!(all, u64::from(CROWD * CROWDS), "{sequence}");
        }
    }

    #[test]
    fn a_name_begins_no_line_of_its_own() {
        assert_eq!(in_one_line("a\nb\u{1b}[1m"), "a\u{fffd}b\u{fffd}[1m");
    }
}
