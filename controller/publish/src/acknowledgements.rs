//! Slow acknowledgements: the log says so, because new hosts are not served meanwhile.

use std::time::Duration;

use sluice_xds_server::{Generation, Store};
use tokio::time::Instant;
use tracing::{info, warn};

/// A longer wait is logged.
const SLOW: Duration = Duration::from_secs(2);
/// The same for the first publication, when Envoy starts and compiles the filter.
const SLOW_START: Duration = Duration::from_secs(10);
/// Interval of checks after that.
const INTERVAL: Duration = Duration::from_millis(500);

/// Publications that not all Envoys have answered.
#[derive(Debug, Default)]
pub(crate) struct Acknowledgements {
    waiting: Option<Waiting>,
    /// One was answered: Envoy runs.
    has_begun: bool,
}

#[derive(Debug)]
struct Waiting {
    oldest: Generation,
    since: Instant,
    latest: Generation,
    next_check: Instant,
    is_logged: bool,
}

impl Acknowledgements {
    pub(crate) fn published(&mut self, generation: Generation) {
        let slow = self.slow();
        match &mut self.waiting {
            Some(waiting) => waiting.latest = generation,
            None => self.waiting = Some(Waiting::of(generation, slow)),
        }
    }

    fn slow(&self) -> Duration {
        if self.has_begun { SLOW } else { SLOW_START }
    }

    /// Time of the next check.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.waiting.as_ref().map(|waiting| waiting.next_check)
    }

    pub(crate) fn check(&mut self, store: &Store) {
        let Some(mut waiting) = self.waiting.take() else {
            return;
        };
        let took = waiting.since.elapsed();
        if !store.is_answered(waiting.oldest) {
            if !waiting.is_logged {
                warn!(
                    "Envoy has not acknowledged the publication of {} s ago, and does not serve its new hosts yet; each host with a \
                     certificate of its own takes Envoy some milliseconds",
                    took.as_secs()
                );
            }
            self.waiting = Some(Waiting {
                is_logged: true,
                next_check: Instant::now() + INTERVAL,
                ..waiting
            });
            return;
        }
        if waiting.is_logged {
            info!(
                "Envoy has acknowledged the publication of {:.1} s ago",
                took.as_secs_f64()
            );
        }
        self.has_begun = true;
        waiting = Waiting::of(waiting.latest, SLOW);
        self.waiting = (!store.is_answered(waiting.oldest)).then_some(waiting);
    }
}

impl Waiting {
    fn of(generation: Generation, slow: Duration) -> Self {
        let since = Instant::now();
        Waiting {
            oldest: generation,
            since,
            latest: generation,
            next_check: since + slow,
            is_logged: false,
        }
    }
}
