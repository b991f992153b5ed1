//! Passive ejection: an endpoint that fails several times in a row is left out for a while.
//!
//! The rules are Envoy's (outlier detection by consecutive 5xx, with `max_ejection_percent` and a panic threshold); the
//! filter has them itself because the data plane's own are ignored where a filter names the endpoint.

use std::time::Duration;

use sluice_filter_config as wire;

use crate::Timestamp;

/// When an endpoint is left out for its failures, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlier {
    /// Failures in a row.
    pub consecutive: u16,
    /// Out for this long, times the number of ejections so far.
    pub base: Duration,
    /// Percent of the endpoints that may be out.
    pub max_ejected: u8,
    /// Percent of the endpoints below which all serve.
    pub panic_threshold: u8,
}

/// Recent failures of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    failures: u16,
    ejections: u16,
    ejected_until: Timestamp,
    ejected_for: Duration,
}

impl From<wire::Outlier> for Outlier {
    fn from(outlier: wire::Outlier) -> Self {
        Outlier {
            consecutive: outlier.consecutive_5xx.get(),
            base: Duration::from_secs(outlier.base_ejection.get().into()),
            max_ejected: outlier.max_ejected.get(),
            panic_threshold: outlier.panic_threshold.get(),
        }
    }
}

impl Outlier {
    /// Ejections in a row beyond this many do not make the next one longer.
    const LONGEST: u16 = 10;

    /// How many of `endpoints` may be out: the share, but at least one, and never all.
    #[must_use]
    pub fn allowance(&self, endpoints: usize) -> usize {
        let share = endpoints * usize::from(self.max_ejected) / 100;
        share.max(1).min(endpoints.saturating_sub(1))
    }

    /// True if so few are left that all are used.
    #[must_use]
    pub fn panics(&self, healthy: usize, endpoints: usize) -> bool {
        healthy * 100 < endpoints * usize::from(self.panic_threshold)
    }
}

impl Record {
    /// An answer that was no failure.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// A failure; `true` when it is one too many.
    pub fn failed(&mut self, outlier: &Outlier) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.failures >= outlier.consecutive
    }

    /// Leaves it out from now on. Longer each time, unless it has behaved for as long as it was out last.
    pub fn eject(&mut self, outlier: &Outlier, now: Timestamp) {
        let behaved = now.since(self.ejected_until) > self.ejected_for;
        self.ejections = if behaved {
            1
        } else {
            (self.ejections + 1).min(Outlier::LONGEST)
        };
        self.ejected_for = outlier.base.saturating_mul(self.ejections.into());
        self.ejected_until = now.after(self.ejected_for);
        self.failures = 0;
    }

    /// True if it is ejected now.
    #[must_use]
    pub fn is_ejected(&self, now: Timestamp) -> bool {
        now < self.ejected_until
    }

    /// When it is in again.
    #[must_use]
    pub fn ejected_until(&self) -> Timestamp {
        self.ejected_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTLIER: Outlier = Outlier {
        consecutive: 3,
        base: Duration::from_secs(30),
        max_ejected: 50,
        panic_threshold: 0,
    };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn failures_count_in_a_row_only() {
        let mut record = Record::default();
        let mut counted = [false, false, true, false, false, true].into_iter();
        for outcome in ["bad", "bad", "bad"] {
            assert_eq!(
                record.failed(&OUTLIER),
                counted.next().unwrap(),
                "{outcome}"
            );
        }
        record.succeeded();
        assert!(!record.failed(&OUTLIER) && !record.failed(&OUTLIER) && record.failed(&OUTLIER));
    }

    #[test]
    fn ejections_get_longer_until_it_behaves() {
        let mut record = Record::default();
        record.eject(&OUTLIER, at(1_000));
        assert!(record.is_ejected(at(1_029)) && !record.is_ejected(at(1_030)));
        record.eject(&OUTLIER, at(1_031));
        assert_eq!(record.ejected_until(), at(1_091));
        record.eject(&OUTLIER, at(1_152));
        assert_eq!(
            record.ejected_until(),
            at(1_182),
            "in for longer than it was out: forgiven"
        );
    }

    #[test]
    fn at_least_one_may_be_ejected_and_never_the_last() {
        let allowed = |percent, of| {
            Outlier {
                max_ejected: percent,
                ..OUTLIER
            }
            .allowance(of)
        };
        assert_eq!(
            [allowed(10, 2), allowed(10, 40), allowed(100, 5)],
            [1, 4, 4]
        );
        assert_eq!([allowed(100, 1), allowed(100, 0)], [0, 0]);
    }

    #[test]
    fn the_panic_threshold_is_a_share_of_all() {
        let outlier = Outlier {
            panic_threshold: 50,
            ..OUTLIER
        };
        assert!(outlier.panics(4, 10) && !outlier.panics(5, 10));
        assert!(!OUTLIER.panics(0, 10));
    }
}
