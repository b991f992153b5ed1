//! Release of parts that were set aside with their namespace: they are tried in the background, one candidate at a time.
//!
//! Others wait for one candidate at most, and pauses keep the share of time that it all takes small. Namespaces take turns, so that none waits
//! for another one with more at fault.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use sluice_ir::{Config, GlobalConfig};
use sluice_quarantine::{
    Aspect, Decided, Inquiry, InquiryOutcome, Part, Publication, Quarantine, Reason, Step,
};
use tokio::time::Instant;
use tracing::info;

use crate::Publisher;

/// Shortest pause after a candidate.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
/// Pause after a candidate, in times of what that took.
const PAUSE_FACTOR: u32 = 4;
/// Parts that are accepted this close together are published together: each publication is a reload of nginx.
const PUBLISH_INTERVAL: Duration = Duration::from_secs(10);

/// Inquiries about parts that were set aside, one a namespace.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    inquiries: BTreeMap<Arc<str>, Inquiry>,
    /// The namespace of the last candidate.
    last: Option<Arc<str>>,
    /// Accepted parts that are not published yet, with what was tried.
    accepted: Vec<(Publication, Vec<Part>)>,
    published: Option<Instant>,
    /// Time of the next candidate. Publications do not put it off.
    next: Option<Instant>,
    /// Until data planes have accepted the last publication.
    is_paused: bool,
}

impl Releases {
    /// Goes on if something is set aside: data planes have accepted everything else.
    pub(crate) fn resume(&mut self, quarantine: &Quarantine) {
        self.go_on(!quarantine.set_aside().is_empty(), Instant::now());
    }

    fn go_on(&mut self, is_needed: bool, now: Instant) {
        self.is_paused = false;
        self.next = is_needed.then(|| self.next.unwrap_or(now + SHORTEST_PAUSE));
    }

    /// Time of the next candidate; `None`: nothing is tried before it is resumed.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.next.filter(|_| !self.is_paused)
    }

    /// The namespace whose turn it is, with its parts.
    fn turn(&self, aside: &BTreeMap<Arc<str>, Vec<Part>>) -> Option<(Arc<str>, Vec<Part>)> {
        let after = self.last.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let next = aside.range((after, Bound::Unbounded)).next();
        let (namespace, parts) = next.or_else(|| aside.first_key_value())?;
        Some((Arc::clone(namespace), parts.clone()))
    }

    /// Takes the inquiry of a namespace out, unless it is about other settings of all hosts.
    fn take(&mut self, namespace: &Arc<str>, global: &GlobalConfig) -> Option<Inquiry> {
        let inquiry = self.inquiries.remove(namespace);
        inquiry.filter(|inquiry| inquiry.has_global(global))
    }

    /// Accepted parts that should be published now.
    fn due(&mut self, is_complete: bool, now: Instant) -> Vec<(Publication, Vec<Part>)> {
        let is_late = self.published.is_none_or(|at| now - at >= PUBLISH_INTERVAL);
        if self.accepted.is_empty() || !(is_complete || is_late) {
            return Vec::new();
        }
        self.published = Some(now);
        std::mem::take(&mut self.accepted)
    }
}

impl Publisher {
    /// Tries the next candidate, and releases what is accepted.
    pub(crate) async fn try_release(&mut self) {
        // Something else is rejected or not decided yet. It goes on when that is accepted.
        self.releases.is_paused = !self.is_accepted || self.incidents.are_of_parts();
        if self.releases.is_paused {
            return;
        }
        let aside = self.quarantine.set_aside();
        let inquiries = &mut self.releases.inquiries;
        inquiries.retain(|namespace, _| aside.contains_key(namespace));
        let Some((namespace, parts)) = self.releases.turn(&aside) else {
            self.releases.next = None;
            return;
        };
        let global = self.quarantine.serve(&self.snapshot).global;
        let mut inquiry = match self.releases.take(&namespace, &global) {
            Some(inquiry) => inquiry,
            None => {
                // Everything that the translation gave, with settings of all hosts that are accepted.
                let mut publication = self.publication().as_translated();
                publication.config.global = global;
                Inquiry::about_each(publication, parts)
            }
        };
        let began = Instant::now();
        let (decided, is_complete) = self.try_next(&mut inquiry).await;
        let Decided { accepted, refused } = decided;
        let (now, tried, releases) = (Instant::now(), inquiry.publication(), &mut self.releases);
        if !accepted.is_empty() {
            releases.accepted.push((tried.clone(), accepted));
        }
        let is_convicted = !refused.is_empty();
        self.quarantine.decide(
            tried,
            Decided {
                refused,
                ..Decided::default()
            },
        );
        if !is_complete {
            releases.inquiries.insert(Arc::clone(&namespace), inquiry);
        }
        releases.last = Some(namespace);
        releases.next = Some(now + SHORTEST_PAUSE.max((now - began) * PAUSE_FACTOR));
        let accepted = releases.due(is_complete, now);
        self.release(accepted).await;
        if is_convicted {
            self.report();
        }
    }

    /// Tries one candidate. Returns the parts that it decides, and true if that were all.
    async fn try_next(&self, inquiry: &mut Inquiry) -> (Decided, bool) {
        match inquiry.next_step() {
            Step::Try(candidate) => {
                let answer = self.probe_all(&candidate).await;
                // If none came, it is tried again.
                if let Some(answer) = answer {
                    inquiry.answer(answer);
                }
                (inquiry.take_decided(), false)
            }
            Step::Done(InquiryOutcome::Parts(parts)) => {
                let refused = parts.into_iter().filter_map(|(part, reason)| match reason {
                    Reason::Refused(message) => Some((part, message)),
                    Reason::Namespace(_) => None,
                });
                let decided = Decided {
                    refused: refused.collect(),
                    ..Decided::default()
                };
                (decided, true)
            }
            Step::Done(InquiryOutcome::Global(_)) => (Decided::default(), true),
        }
    }

    async fn release(&mut self, accepted: Vec<(Publication, Vec<Part>)>) {
        let mut released = 0;
        for (tried, accepted) in accepted {
            released += self.quarantine.decide(
                &tried,
                Decided {
                    accepted,
                    ..Decided::default()
                },
            );
        }
        if released > 0 {
            info!("held back with others of their namespace, and accepted now: {released}");
            self.publish_again().await;
            // Perhaps nothing is held any more, of which there is nothing to tell later.
            self.report();
        }
    }

    async fn probe_all(&self, candidate: &Config) -> Option<Result<(), String>> {
        let mut answer = self.probe(Aspect::Routes, candidate).await;
        if self.nginx.is_none() && answer == Some(Ok(())) {
            answer = self.probe(Aspect::Tls, candidate).await;
        }
        self.end_probes();
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often something else is published and accepted.
    #[test]
    fn publications_put_no_candidate_off() {
        let (mut releases, start) = (Releases::default(), Instant::now());
        releases.go_on(true, start);
        let due = Some(start + SHORTEST_PAUSE);
        for changes in 1..10 {
            assert_eq!(releases.at(), due);
            releases.is_paused = true;
            assert_eq!(releases.at(), None);
            releases.go_on(true, start + SHORTEST_PAUSE * changes / 2);
        }
        assert_eq!(releases.at(), due);
        releases.go_on(false, start);
        assert_eq!(releases.at(), None);
    }
}
