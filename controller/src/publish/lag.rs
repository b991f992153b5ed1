//! Envoys that take long to take what they were given: new hosts are not served meanwhile, and the log says why.

use std::time::Duration;

use sluice_xds_server::{Generation, Store};
use tokio::time::Instant;
use tracing::{info, warn};

/// From then on it is worth a line.
const LONG: Duration = Duration::from_secs(2);
/// How often to look whether it is over.
const AGAIN: Duration = Duration::from_millis(500);

/// The publications that not all Envoys have answered.
#[derive(Debug, Default)]
pub(super) struct Lag(Option<Waiting>);

#[derive(Debug)]
struct Waiting {
    oldest: Generation,
    since: Instant,
    latest: Generation,
    look_at: Instant,
    is_told: bool,
}

impl Lag {
    pub(super) fn published(&mut self, generation: Generation) {
        match &mut self.0 {
            Some(waiting) => waiting.latest = generation,
            None => self.0 = Some(Waiting::of(generation)),
        }
    }

    /// When to look again.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.0.as_ref().map(|waiting| waiting.look_at)
    }

    pub(super) fn look(&mut self, store: &Store) {
        let Some(mut waiting) = self.0.take() else {
            return;
        };
        let took = waiting.since.elapsed();
        if !store.is_answered(waiting.oldest) {
            if !waiting.is_told {
                warn!(
                    "Envoy has not taken what was published {} s ago, and does not serve what is new in it; each host with a \
                     certificate of its own takes Envoy some milliseconds",
                    took.as_secs()
                );
            }
            self.0 = Some(Waiting {
                is_told: true,
                look_at: Instant::now() + AGAIN,
                ..waiting
            });
            return;
        }
        if waiting.is_told {
            info!(
                "Envoy has taken what was published {:.1} s ago",
                took.as_secs_f64()
            );
        }
        waiting = Waiting::of(waiting.latest);
        self.0 = (!store.is_answered(waiting.oldest)).then_some(waiting);
    }
}

impl Waiting {
    fn of(generation: Generation) -> Self {
        let since = Instant::now();
        Waiting {
            oldest: generation,
            since,
            latest: generation,
            look_at: since + LONG,
            is_told: false,
        }
    }
}
