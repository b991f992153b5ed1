//! Removal of clusters and endpoints once nothing uses them any more.

use std::time::Duration;

use sluice_xds::{Update, publication};
use tokio::time::Instant;

use crate::Publisher;

/// Time from the removal in the filter's log to that in Envoy.
const ENVOY: Duration = Duration::from_millis(50);
/// The same for nginx: it tests its new configuration, reloads, and every worker starts anew.
const NGINX: Duration = Duration::from_secs(5);
/// Old workers accept requests for a tenth of a second after nginx has new ones.
const OLD_WORKERS: Duration = Duration::from_secs(2);
/// Longest wait beyond that for data planes to accept the last publication.
const UNDECIDED: Duration = Duration::from_secs(10);

/// Pending removals, and when they are due.
pub(crate) struct Removals {
    pub(crate) at: Instant,
    /// Due then even if no data plane has accepted the last publication.
    latest: Instant,
    update: Update,
}

impl Publisher {
    /// Adds removals to those that are pending.
    pub(crate) fn schedule_removals(&mut self, removals: Update) {
        let now = Instant::now();
        let at = now + if self.nginx.is_some() { NGINX } else { ENVOY };
        let waiting = self.removals.get_or_insert(Removals {
            at,
            latest: at + UNDECIDED,
            update: Update::default(),
        });
        if self.nginx.is_some() {
            waiting.at = waiting.at.max(now + OLD_WORKERS).min(waiting.latest);
        }
        waiting.update.merge(removals);
    }

    /// Not while data planes may still serve the publication before, because they have not accepted the last one.
    pub(crate) fn are_removals_due(&mut self) -> bool {
        let Some(removals) = self.removals.as_mut() else {
            return false;
        };
        let is_due = self.is_accepted || removals.at >= removals.latest;
        if !is_due {
            removals.at += ENVOY;
        }
        is_due
    }

    pub(crate) fn apply_removals(&mut self) {
        let Some(Removals { mut update, .. }) = self.removals.take() else {
            return;
        };
        // As long as something is rejected, data planes serve the publication before.
        let accepted = self
            .quarantine
            .last_accepted()
            .filter(|_| !self.is_accepted);
        let both = accepted.map(|accepted| self.effective.with_routes_of(&accepted.config));
        let config = both.as_ref().unwrap_or(&self.effective);
        self.served.authorizer.forget_removed(config);
        self.served.firewall.keep_only(config);
        if self.nginx.is_some() {
            let logged = self.known.as_ref().unwrap_or(&self.effective);
            self.served.log.publish(|log| log.advance(logged, config));
            self.known = both;
        } else {
            let later = both
                .map(|both| publication::take_removals_of(&mut update, &both))
                .filter(|later| !later.is_empty());
            self.served.store.apply(update);
            later
                .into_iter()
                .for_each(|later| self.schedule_removals(later));
        }
    }
}
