//! The balancing algorithms: one file each, one trait.
//!
//! To add one, write its file, and name it twice here: as a module and in the list of `balancers!`. The wire format,
//! the annotation `load-balance` and the admin API take its name and its needs from there.
//!
//! Every algorithm picks among [`EligibleEndpoints`], so draining, ejection, backups and zones are no concern of it, and none reads
//! all endpoints for a pick.
//!
//! [`EligibleEndpoints`]: crate::eligible::EligibleEndpoints

mod bounded_chash;
mod candidates;
mod chash;
mod chash_subset;
mod draw;
mod ewma;
mod least_conn;
mod load_balance;
mod peak_ewma;
mod pick_context;
mod registry;
pub mod ring;
mod round_robin;
mod schedule;
mod two_choices;

use crate::endpoint_state::{EndpointState, SlowStart};
use crate::{Endpoints, Rng, Timestamp};

pub use candidates::Candidates;
pub use draw::draw;
pub use ewma::decay;
pub use load_balance::{InvalidLoadBalance, LoadBalance, Parameters};
pub use pick_context::PickContext;

registry::balancers! {
    round_robin::RoundRobin,
    chash::Chash,
    chash_subset::ChashSubset,
    bounded_chash::BoundedChash,
    ewma::Ewma,
    least_conn::LeastConn,
    peak_ewma::PeakEwma,
}

/// A balancing algorithm, with the state of one backend.
pub trait Balancer: Sized {
    /// Its name in the plugin configuration and in annotations.
    const NAME: &'static str;
    /// Its parameters and the data that is kept for it.
    const NEEDS: Needs = Needs::NOTHING;

    /// A balancer without history.
    fn new(setup: &Setup<'_>, rng: &mut impl Rng) -> Self;

    /// Picks at least one endpoint; [`Candidates::complete`] adds the failover order.
    fn pick(&mut self, context: &PickContext<'_>, rng: &mut impl Rng) -> Candidates;

    /// Records a response in the state of its endpoint. Called for algorithms that need [`Needs::latency`].
    fn observe(_endpoint: &mut EndpointState, _response: Response, _now: Timestamp) {}
}

/// The parameters of an algorithm, and the data that is kept for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The parameter `key`, a value to hash.
    pub key: bool,
    /// The parameter `size`.
    pub size: bool,
    /// The parameter `load_factor`.
    pub load_factor: bool,
    /// [`PickContext::ring`].
    pub ring: bool,
    /// [`EndpointState::in_flight`].
    pub in_flight: bool,
    /// Calls of [`Balancer::observe`] with the response time.
    pub latency: bool,
    /// [`Response::failed`] in these calls.
    pub failures: bool,
}

impl Needs {
    /// No parameters and no data.
    pub const NOTHING: Needs = Needs {
        key: false,
        size: false,
        load_factor: false,
        ring: false,
        in_flight: false,
        latency: false,
        failures: false,
    };

    /// True if the algorithm has no parameters.
    #[must_use]
    pub const fn no_parameters(self) -> bool {
        !(self.key || self.size || self.load_factor)
    }
}

/// The input of [`Balancer::new`].
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// All endpoints of the backend.
    pub endpoints: &'a Endpoints,
    /// How the share of a new endpoint grows.
    pub slow_start: SlowStart,
    /// The parameters that the algorithm needs.
    pub parameters: Parameters,
}

/// The response to a request, as [`Balancer::observe`] sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Response time in seconds; zero if the host measured none.
    pub seconds: f64,
    /// The status is 500 or above. Only known with [`Needs::failures`].
    pub failed: bool,
}
