//! The balancing algorithms: one file each, one tiny trait.
//!
//! Every one of them chooses among what the [`Pool`] has ready, so that draining, ejection and zones are no concern of
//! an algorithm, and none looks at all endpoints for a pick.

mod bounded_chash;
mod candidates;
mod chash;
mod chash_subset;
mod draw;
mod ewma;
mod least_conn;
mod peak_ewma;
pub mod ring;
mod round_robin;
mod schedule;
mod two_choices;

use sluice_filter_config as wire;

use crate::pool::Pool;
use crate::vitals::{SlowStart, Vitals};
use crate::{EndpointIdx, Endpoints, Rng, Timestamp};

pub use bounded_chash::BoundedChash;
pub use candidates::Candidates;
pub use chash::Chash;
pub use chash_subset::ChashSubset;
pub use draw::draw;
pub use ewma::{Ewma, decay};
pub use least_conn::LeastConn;
pub use peak_ewma::PeakEwma;
use ring::Ring;
pub use round_robin::RoundRobin;

/// What a balancer chooses from, and for whom. The pool is never empty.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// All endpoints of the backend.
    pub endpoints: &'a Endpoints,
    /// Those among them that may be chosen.
    pub pool: &'a Pool,
    /// What is known of each, by position.
    pub vitals: &'a [Vitals],
    /// The ring of the endpoints; empty unless the policy hashes.
    pub ring: &'a Ring,
    /// Requests in flight to all of them.
    pub in_flight_of_all: u32,
    /// How new endpoints grow to their share.
    pub slow_start: SlowStart,
    /// How many candidates to name.
    pub attempts: usize,
    /// What the request is hashed by.
    pub key: &'a [u8],
    /// Now.
    pub now: Timestamp,
}

impl Field<'_> {
    /// The part of its share that an endpoint has, from 0 to 1.
    #[must_use]
    pub fn ramp(&self, idx: EndpointIdx) -> f64 {
        self.vitals
            .get(idx)
            .map_or(1.0, |vitals| self.slow_start.ramp(vitals.joined, self.now))
    }

    /// The share that an endpoint has now, relative to the others.
    #[must_use]
    pub fn share(&self, idx: EndpointIdx) -> f64 {
        f64::from(self.endpoints.weight(idx)) * self.ramp(idx)
    }

    /// Requests in flight to an endpoint.
    #[must_use]
    pub fn in_flight(&self, idx: EndpointIdx) -> u32 {
        self.vitals.get(idx).map_or(0, |vitals| vitals.in_flight)
    }
}

/// Names the endpoint for a request and, behind it, where its retries go.
pub trait Balancer {
    /// At least one candidate; the rest is [`Candidates::complete`]d.
    fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates;
}

/// What the requests of a backend are told apart by, to be compiled once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadBalance {
    /// See [`RoundRobin`].
    RoundRobin,
    /// See [`Chash`].
    Chash,
    /// See [`ChashSubset`]; endpoints in a group.
    ChashSubset(usize),
    /// See [`BoundedChash`]; percent of the mean.
    BoundedChash(u16),
    /// See [`Ewma`].
    Ewma,
    /// See [`LeastConn`].
    LeastConn,
    /// See [`PeakEwma`].
    PeakEwma,
}

impl From<&wire::LoadBalance> for LoadBalance {
    fn from(policy: &wire::LoadBalance) -> Self {
        match policy {
            wire::LoadBalance::RoundRobin => LoadBalance::RoundRobin,
            wire::LoadBalance::Chash { .. } => LoadBalance::Chash,
            wire::LoadBalance::ChashSubset { size, .. } => {
                LoadBalance::ChashSubset(size.get().into())
            }
            wire::LoadBalance::BoundedChash { load_factor, .. } => {
                LoadBalance::BoundedChash(load_factor.percent())
            }
            wire::LoadBalance::Ewma => LoadBalance::Ewma,
            wire::LoadBalance::LeastConn => LoadBalance::LeastConn,
            wire::LoadBalance::PeakEwma => LoadBalance::PeakEwma,
        }
    }
}

impl LoadBalance {
    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LoadBalance::RoundRobin => "round_robin",
            LoadBalance::Chash => "chash",
            LoadBalance::ChashSubset(_) => "chashsubset",
            LoadBalance::BoundedChash(_) => "bounded_chash",
            LoadBalance::Ewma => "ewma",
            LoadBalance::LeastConn => "least_conn",
            LoadBalance::PeakEwma => "peak_ewma",
        }
    }

    /// Whether it needs a ring of the endpoints.
    #[must_use]
    pub fn hashes_endpoints(self) -> bool {
        matches!(self, LoadBalance::Chash | LoadBalance::BoundedChash(_))
    }

    /// Whether it must know which requests are in flight.
    #[must_use]
    pub fn counts_in_flight(self) -> bool {
        matches!(
            self,
            LoadBalance::BoundedChash(_) | LoadBalance::LeastConn | LoadBalance::PeakEwma
        )
    }

    /// Whether it must know how long requests took.
    #[must_use]
    pub fn measures_latency(self) -> bool {
        matches!(self, LoadBalance::Ewma | LoadBalance::PeakEwma)
    }
}

/// The balancer of one backend, with its live state.
#[derive(Debug)]
pub enum Balance {
    /// Each endpoint in turn.
    RoundRobin(RoundRobin),
    /// By consistent hash.
    Chash(Chash),
    /// By consistent hash to a group of endpoints.
    ChashSubset(ChashSubset),
    /// By consistent hash, with a bound on the load.
    BoundedChash(BoundedChash),
    /// The better of two by response time.
    Ewma(Ewma),
    /// The better of two by requests in flight.
    LeastConn(LeastConn),
    /// The better of two by both.
    PeakEwma(PeakEwma),
}

impl Balance {
    /// The balancer for a policy, fresh.
    pub fn new(
        policy: LoadBalance,
        endpoints: &Endpoints,
        slow_start: SlowStart,
        rng: &mut impl Rng,
    ) -> Self {
        match policy {
            LoadBalance::RoundRobin => {
                Balance::RoundRobin(RoundRobin::starting_anywhere(endpoints, slow_start, rng))
            }
            LoadBalance::Chash => Balance::Chash(Chash),
            LoadBalance::ChashSubset(size) => {
                Balance::ChashSubset(ChashSubset::new(endpoints, size))
            }
            LoadBalance::BoundedChash(load_factor) => {
                Balance::BoundedChash(BoundedChash::new(load_factor))
            }
            LoadBalance::Ewma => Balance::Ewma(Ewma),
            LoadBalance::LeastConn => Balance::LeastConn(LeastConn),
            LoadBalance::PeakEwma => Balance::PeakEwma(PeakEwma),
        }
    }

    /// As [`Balancer::candidates`], completed.
    pub fn candidates(&mut self, field: &Field<'_>, rng: &mut impl Rng) -> Candidates {
        debug_assert!(
            !field.pool.ready().is_empty(),
            "a backend without endpoints is answered before"
        );
        let mut candidates = match self {
            Balance::RoundRobin(balancer) => balancer.candidates(field, rng),
            Balance::Chash(balancer) => balancer.candidates(field, rng),
            Balance::ChashSubset(balancer) => balancer.candidates(field, rng),
            Balance::BoundedChash(balancer) => balancer.candidates(field, rng),
            Balance::Ewma(balancer) => balancer.candidates(field, rng),
            Balance::LeastConn(balancer) => balancer.candidates(field, rng),
            Balance::PeakEwma(balancer) => balancer.candidates(field, rng),
        };
        candidates.complete(field);
        candidates
    }
}
