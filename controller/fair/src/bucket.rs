//! So many at once after a quiet time, and then one in a while.

use std::time::{Duration, Instant};

/// A bucket that fills with time.
#[derive(Clone, Debug)]
pub struct Bucket {
    most: u32,
    pace: Duration,
    left: u32,
    /// Those that came before this are in it.
    since: Option<Instant>,
}

impl Bucket {
    /// Full of `most`; one more comes in each `pace`.
    #[must_use]
    pub const fn full(most: u32, pace: Duration) -> Self {
        Bucket {
            most,
            pace,
            left: most,
            since: None,
        }
    }

    /// Takes what has come by now in.
    pub fn fill(&mut self, now: Instant) {
        let since = *self.since.get_or_insert(now);
        let periods = now.saturating_duration_since(since).as_millis() / self.pace.as_millis();
        let periods = u32::try_from(periods).unwrap_or(u32::MAX);
        if periods > 0 {
            self.left = self.left.saturating_add(periods).min(self.most);
            let counted = since.checked_add(self.pace.saturating_mul(periods));
            self.since = counted.or(Some(now));
        }
    }

    /// Takes one out. False: there is none.
    pub fn take(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or_default();
        left.is_some()
    }

    /// Those that are in it.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// True after a quiet time.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.left == self.most
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACE: Duration = Duration::from_secs(1);

    proptest! {
        /// Whatever the pauses are, none that has come is lost below the brim, and none comes early.
        #[test]
        fn as_many_are_taken_as_have_come(pauses in prop::collection::vec((0..3_000_u32, 0..8_u32), 0..50)) {
            let (start, mut millis) = (Instant::now(), 0);
            let mut bucket = Bucket::full(5, PACE);
            bucket.fill(start);
            let mut expected = 5;
            for (pause, wanted) in pauses {
                let before = millis / 1_000;
                millis += pause;
                expected = (expected + millis / 1_000 - before).min(5);
                bucket.fill(start + Duration::from_millis(millis.into()));
                prop_assert_eq!(bucket.left(), expected);
                prop_assert_eq!(bucket.is_full(), expected == 5);
                let taken = (0..wanted).filter(|_| bucket.take()).count();
                prop_assert_eq!(taken, expected.min(wanted) as usize);
                expected -= expected.min(wanted);
            }
        }
    }
}
