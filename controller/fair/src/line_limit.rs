//! Lines of a log that tenants or clients can make happen.

use std::time::{Duration, Instant};

use crate::Bucket;

/// Lines that may be written. Those that are left out are counted in the next one.
#[derive(Clone, Debug)]
pub struct LineLimit {
    room: Bucket,
    unlogged: u64,
}

impl LineLimit {
    /// So many at once after a quiet time, and then one in each `pace`.
    #[must_use]
    pub const fn new(burst: u32, pace: Duration) -> Self {
        LineLimit {
            room: Bucket::full(burst, pace),
            unlogged: 0,
        }
    }

    /// How many were left out before this line; `None`: this one is left out, too.
    pub fn admit(&mut self, now: Instant) -> Option<u64> {
        self.room.fill(now);
        if self.room.take() {
            return Some(std::mem::take(&mut self.unlogged));
        }
        self.unlogged += 1;
        None
    }

    /// True if it is as a new one.
    pub fn is_forgettable(&mut self, now: Instant) -> bool {
        self.room.fill(now);
        self.room.is_full() && self.unlogged == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURST: u32 = 20;
    const PACE: Duration = Duration::from_secs(10);
    /// Pauses between crowds of lines, in quarters of the pace.
    const PAUSES: [u32; 4] = [0, 1, 5, 400];
    const CROWD: u32 = 15;
    const CROWDS: u32 = 6;

    /// In every sequence of pauses.
    #[test]
    fn lines_are_few_and_each_is_written_or_counted() {
        let start = Instant::now();
        for sequence in 0..PAUSES.len().pow(CROWDS) {
            let mut limit = LineLimit::new(BURST, PACE);
            let (mut rest, mut quarters) = (sequence, 0);
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
            assert!(!limit.is_forgettable(start + PACE * quarters / 4));
        }
    }
}
