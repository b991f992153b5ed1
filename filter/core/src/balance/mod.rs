//! The balancing algorithms: one file each, one tiny trait.

mod round_robin;

use sluice_filter_config as wire;

use crate::{EndpointIdx, Rng};

pub use round_robin::RoundRobin;

/// The endpoints to try for one request: the choice, then the failover order.
///
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
    pub fn iter(&self) -> impl Iterator<Item = EndpointIdx> + '_ {
        self.picks.iter().take(self.len).copied()
    }
}

/// Chooses among `endpoints` endpoints, which is never zero.
pub trait Balancer {
    /// Names the endpoint for the next request and, behind it, where its retries go.
    fn candidates(&mut self, endpoints: usize, attempts: usize) -> Candidates;
}

/// The balancer of one backend, with its live state.
#[derive(Debug)]
pub enum Balance {
    /// Each endpoint in turn.
    RoundRobin(RoundRobin),
}

impl Balance {
    /// The balancer for a policy, fresh; `None` for one that this build cannot serve.
    pub fn new(policy: &wire::LoadBalance, endpoints: usize, rng: &mut impl Rng) -> Option<Self> {
        match policy {
            wire::LoadBalance::RoundRobin => {
                Some(Balance::RoundRobin(RoundRobin::starting_anywhere(endpoints, rng)))
            }
            _ => None,
        }
    }

    /// As [`Balancer::candidates`].
    pub fn candidates(&mut self, endpoints: usize, attempts: usize) -> Candidates {
        match self {
            Balance::RoundRobin(balancer) => balancer.candidates(endpoints, attempts),
        }
    }
}
