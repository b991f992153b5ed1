//! Earliest deadline first: a smooth weighted turn in O(log n), as in Envoy's scheduler.
//!
//! Every pick moves an endpoint's deadline by the inverse of its share. With equal shares that is a plain turn; with
//! weights 2 and 1 it is `a b a`, not `a a b`.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::{EndpointIdx, Rng};

use super::PickContext;

/// The deadlines of all endpoints.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    queue: BinaryHeap<Reverse<Entry>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    deadline: f64,
    idx: EndpointIdx,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.deadline
            .total_cmp(&other.deadline)
            .then(self.idx.cmp(&other.idx))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl Schedule {
    /// All endpoints, each at a random point of its first turn.
    pub(super) fn with_random_phase(
        weights: impl Iterator<Item = u16>,
        rng: &mut impl Rng,
    ) -> Self {
        let entry = |(idx, weight)| {
            Reverse(Entry {
                deadline: rng.fraction() / f64::from(weight),
                idx,
            })
        };
        Schedule {
            queue: weights.enumerate().map(entry).collect(),
        }
    }

    /// Next endpoint of the schedule. Those that are not ready are skipped, for the whole turn of a weight of one: by their own
    /// weight they would be met over and over, and a heavy backup would hide the others.
    pub(super) fn next(&mut self, context: &PickContext<'_>) -> Option<EndpointIdx> {
        // Each that is skipped may be ahead by one turn.
        for _ in 0..2 * self.queue.len() {
            let mut top = self.queue.peek_mut()?;
            let idx = top.0.idx;
            let turn = 1.0 / context.share(idx);
            if context.eligible.is_ready(idx) {
                top.0.deadline += turn;
                return Some(idx);
            }
            top.0.deadline += turn.max(1.0);
        }
        None
    }
}
