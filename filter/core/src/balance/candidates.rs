//! The endpoints to try for one request: the choice, then the failover order.

use super::PickContext;
use crate::EndpointIdx;

/// A fixed array, because it is made for every request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Candidates {
    picks: [EndpointIdx; Candidates::MAX],
    len: usize,
}

impl Candidates {
    /// More attempts than this are not worth a client's patience; the data plane's own fallback serves the rest.
    pub const MAX: usize = 16;

    /// Adds the next one to try; beyond [`Candidates::MAX`] nothing is added.
    pub fn push(&mut self, idx: EndpointIdx) {
        if let Some(slot) = self.picks.get_mut(self.len) {
            *slot = idx;
            self.len += 1;
        }
    }

    /// In the order to try them.
    pub fn iter(&self) -> impl Iterator<Item = EndpointIdx> + Clone + '_ {
        self.picks.iter().take(self.len).copied()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is none yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if this endpoint is a candidate already.
    #[must_use]
    pub fn has(&self, idx: EndpointIdx) -> bool {
        self.iter().any(|tried| tried == idx)
    }

    /// Adds what is missing for the attempts: the others that are ready, from behind the first on, then spare ones.
    /// When all were named they are named again, except for a single one: it has nowhere else to go.
    pub fn complete(&mut self, context: &PickContext<'_>) {
        let attempts = context.attempts.min(Candidates::MAX);
        let first = self.iter().next().unwrap_or_default();
        let start = context
            .eligible
            .position(first)
            .map_or(first, |position| position + 1);
        for set in std::iter::once(context.eligible.ready()).chain(context.eligible.spare()) {
            self.take_round(set, start, attempts);
        }
        let different = self.len;
        for n in 0.. {
            if different < 2 || self.len >= attempts {
                break;
            }
            self.push(self.picks.get(n).copied().unwrap_or(first));
        }
    }

    /// Once around a set, those that were not tried.
    fn take_round(&mut self, set: &[EndpointIdx], start: usize, attempts: usize) {
        let (before, behind) = set.split_at(start.checked_rem(set.len()).unwrap_or(0));
        for &idx in behind.iter().chain(before) {
            if self.len >= attempts {
                break;
            }
            if !self.has(idx) {
                self.push(idx);
            }
        }
    }
}
