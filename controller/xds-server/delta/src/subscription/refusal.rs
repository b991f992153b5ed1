//! Refusals of one client.
//!
//! A response that is refused is sent again in halves, so that one bad resource keeps no other back; a resource that is refused
//! alone is not sent again until it changes, or until somebody says that it may be accepted now.

use sluice_xds_resource::{Name, is_probe};

use super::Subscription;
use crate::acknowledgement::{Acknowledgement, InFlight};
use crate::cache::Cache;
use crate::progress::Probed;
use crate::version::Version;

impl Subscription {
    pub(super) fn was_refused(&mut self, in_flight: InFlight) -> Acknowledgement {
        let mut is_known = false;
        if let [(name, version)] = &*in_flight.sent {
            self.again.remove(name);
            let before = self.refused.insert(name.clone(), *version);
            is_known = before == Some(*version);
        }
        if in_flight.sent.len() <= 1 {
            self.answered = in_flight.covers.unwrap_or(self.answered);
        } else {
            let (first, second) = in_flight.sent.split_at(in_flight.sent.len() / 2);
            for half in [second, first] {
                self.suspects
                    .push(half.iter().map(|(name, _)| name.clone()).collect());
            }
        }
        match is_known {
            true => Acknowledgement::RefusedAgain(in_flight.sent),
            false => Acknowledgement::Refused(in_flight.sent),
        }
    }

    pub(super) fn forget_refusal(&mut self, name: &Name) {
        self.refused.remove(name);
        self.again.remove(name);
    }

    /// ACK or NACK of the current version of a resource; `None`: no answer yet.
    pub(crate) fn verdict_on(&self, name: &str, cache: &Cache) -> Option<Probed> {
        let version = cache.find(self.kind, name)?.version;
        let is = |answered: Option<&Option<Version>>| answered == Some(&Some(version));
        let (refused, known) = (is(self.refused.get(name)), is(self.known.get(name)));
        (refused || known).then_some(Probed {
            version,
            is_accepted: !refused,
        })
    }

    /// True if something is refused that traffic needs.
    pub(crate) fn has_refusals(&self) -> bool {
        self.refused.keys().any(|name| !is_probe(name))
    }

    /// Sends what is refused again, each resource alone.
    pub(crate) fn offer_again(&mut self, cache: &Cache) {
        self.answered = self.answered(cache);
        let refused = self.refused.keys().filter(|name| !is_probe(name));
        for name in refused {
            if self.again.insert(name.clone()) {
                self.suspects.push([name.clone()].into_iter().collect());
            }
        }
    }
}
