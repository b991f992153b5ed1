//! Removal of clusters and endpoints once nothing uses them any more.

use std::time::Duration;

use sluice_xds::Update;
use tokio::time::Instant;

use super::Publisher;

/// How long endpoints and clusters stay in Envoy after the filter was told that they are gone.
const ENVOY: Duration = Duration::from_millis(50);
/// The same for nginx: it is asked whether it likes its new configuration, reloads, and every worker starts anew.
const NGINX: Duration = Duration::from_secs(5);
/// Workers of before take requests for a tenth of a second after nginx has others.
const OLD_WORKERS: Duration = Duration::from_secs(2);
/// Longest time for which a farewell waits, beyond that, for data planes to take what they were given.
const UNDECIDED: Duration = Duration::from_secs(10);

/// Pending removals, and when they are due.
pub(super) struct Farewell {
    pub(super) at: Instant,
    /// Then all goes that no data plane needs, whatever they say.
    latest: Instant,
    said: Update,
}

impl Publisher {
    /// Farewells wait together.
    pub(super) fn schedule(&mut self, farewell: Update) {
        let now = Instant::now();
        let at = now + if self.nginx.is_some() { NGINX } else { ENVOY };
        let said = Update::default();
        let waiting = self.farewell.get_or_insert(Farewell {
            at,
            latest: at + UNDECIDED,
            said,
        });
        if self.nginx.is_some() {
            waiting.at = waiting.at.max(now + OLD_WORKERS).min(waiting.latest);
        }
        waiting.said.merge(farewell);
    }

    /// Not while data planes may serve what was before, because they have not said that they take what they were given.
    pub(super) fn is_farewell_due(&mut self) -> bool {
        let Some(farewell) = self.farewell.as_mut() else {
            return false;
        };
        let is_due = self.is_taken || farewell.at >= farewell.latest;
        if !is_due {
            farewell.at += ENVOY;
        }
        is_due
    }

    pub(super) fn say_farewell(&mut self) {
        let Some(Farewell { mut said, .. }) = self.farewell.take() else {
            return;
        };
        // As long as something is refused, data planes serve what was before.
        let taken = self.quarantine.last().filter(|_| !self.is_taken);
        let both = taken.map(|taken| self.effective.with_routes_of(&taken.config));
        let config = both.as_ref().unwrap_or(&self.effective);
        self.served.authorizer.forget_removed(config);
        if self.nginx.is_some() {
            self.served.log.publish(|log| log.replace(config));
            self.known = both;
        } else {
            let later = both
                .map(|both| said.take_removals_of(&both))
                .filter(|later| !later.is_empty());
            self.served.store.apply(said);
            later.into_iter().for_each(|later| self.schedule(later));
        }
    }
}
