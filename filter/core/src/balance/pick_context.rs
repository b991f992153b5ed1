//! The input of a pick.

use crate::eligible::EligibleEndpoints;
use crate::endpoint_state::{EndpointState, SlowStart};
use crate::{EndpointIdx, Endpoints, Timestamp};

use super::ring::Ring;

/// The endpoints that a balancer picks from, and the request that it picks for. At least one endpoint is eligible.
#[derive(Clone, Copy, Debug)]
pub struct PickContext<'a> {
    /// All endpoints of the backend.
    pub endpoints: &'a Endpoints,
    /// Those among them that may be chosen.
    pub eligible: &'a EligibleEndpoints,
    /// State of each endpoint, by position.
    pub states: &'a [EndpointState],
    /// The ring of the endpoints; empty unless the policy hashes.
    pub ring: &'a Ring,
    /// Requests in flight to all of them.
    pub in_flight_of_all: u32,
    /// How new endpoints grow to their share.
    pub slow_start: SlowStart,
    /// How many candidates to name.
    pub attempts: usize,
    /// Hash key of the request.
    pub key: &'a [u8],
    /// Now.
    pub now: Timestamp,
}

impl PickContext<'_> {
    /// The part of its share that an endpoint has, from 0 to 1.
    #[must_use]
    pub fn ramp(&self, idx: EndpointIdx) -> f64 {
        self.states
            .get(idx)
            .map_or(1.0, |state| self.slow_start.ramp(state.joined, self.now))
    }

    /// The share that an endpoint has now, relative to the others.
    #[must_use]
    pub fn share(&self, idx: EndpointIdx) -> f64 {
        f64::from(self.endpoints.weight(idx)) * self.ramp(idx)
    }

    /// Requests in flight to an endpoint.
    #[must_use]
    pub fn in_flight(&self, idx: EndpointIdx) -> u32 {
        self.states.get(idx).map_or(0, |state| state.in_flight)
    }
}
