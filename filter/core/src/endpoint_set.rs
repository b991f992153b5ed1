//! The endpoints of a backend with everything that is known of them: what a choice is made from.

use crate::balance::ring::Ring;
use crate::balance::{Ewma, PickContext};
use crate::eligible::EligibleEndpoints;
use crate::endpoint_state::EndpointState;
use crate::outcome::{Pick, Serials};
use crate::outlier::Outlier;
use crate::policy::Policy;
use crate::{EndpointIdx, Endpoints, Timestamp};

/// Endpoints, frozen, and their state, live.
#[derive(Debug, Default)]
pub(crate) struct EndpointSet {
    endpoints: Endpoints,
    states: Vec<EndpointState>,
    eligible: EligibleEndpoints,
    ring: Ring,
    in_flight: u32,
}

impl EndpointSet {
    /// These endpoints; what `old` knew of those that stay moves over.
    pub(crate) fn succeeding(
        old: &EndpointSet,
        endpoints: Endpoints,
        serials: &mut Serials,
        now: Timestamp,
    ) -> Self {
        let is_unhealthy =
            |of: &Endpoints, idx| of.traits(idx).is_some_and(|traits| traits.unhealthy);
        let known = |idx| {
            let was_at = old.endpoints.position(endpoints.address(idx)?)?;
            let mut state = old.states.get(was_at).cloned()?;
            // One that comes back begins anew.
            if is_unhealthy(&old.endpoints, was_at) && !is_unhealthy(&endpoints, idx) {
                state.joined = now;
            }
            Some(state)
        };
        // Those that are there from the start are not new.
        let joined = if old.endpoints.is_empty() {
            Timestamp::default()
        } else {
            now
        };
        let mut join = || EndpointState {
            serial: serials.next(),
            joined,
            ..EndpointState::default()
        };
        let states: Vec<EndpointState> = (0..endpoints.len())
            .map(|idx| known(idx).unwrap_or_else(&mut join))
            .collect();
        let in_flight = states.iter().map(|state| state.in_flight).sum();
        EndpointSet {
            endpoints,
            states,
            in_flight,
            ..EndpointSet::default()
        }
    }

    pub(crate) fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    pub(crate) fn states(&self) -> &[EndpointState] {
        &self.states
    }

    /// Gives those that joined with the last change the mean response time of the others.
    pub(crate) fn start_at_mean_latency(&mut self, now: Timestamp) {
        Ewma::start_at_mean(&mut self.states, now);
    }

    /// Makes the ring, if it is not there.
    pub(crate) fn make_ring(&mut self) {
        if !self.ring.is_empty() {
            return;
        }
        let endpoints = &self.endpoints;
        let node = |idx| {
            (
                endpoints.address(idx).unwrap_or_default(),
                u32::from(endpoints.weight(idx)),
            )
        };
        self.ring = Ring::new((0..endpoints.len()).map(node));
    }

    /// Looks at who may be chosen, now that something changed.
    pub(crate) fn update_eligible(&mut self, outlier: Option<&Outlier>, now: Timestamp) {
        self.eligible = EligibleEndpoints::new(&self.endpoints, &self.states, outlier, now);
    }

    /// Lets ejected endpoints come back whose time has come; they begin anew.
    pub(crate) fn refresh(&mut self, outlier: Option<&Outlier>, now: Timestamp) {
        if !self.eligible.is_stale(now) {
            return;
        }
        let computed = self.eligible.computed_at();
        let back = |state: &&mut EndpointState| {
            state.record.is_ejected(computed) && !state.record.is_ejected(now)
        };
        for state in self.states.iter_mut().filter(back) {
            state.joined = now;
        }
        self.update_eligible(outlier, now);
    }

    /// The set as a balancer sees it.
    pub(crate) fn pick_context<'a>(
        &'a self,
        policy: &Policy,
        key: &'a [u8],
        now: Timestamp,
    ) -> PickContext<'a> {
        PickContext {
            endpoints: &self.endpoints,
            eligible: &self.eligible,
            states: &self.states,
            ring: &self.ring,
            in_flight_of_all: self.in_flight,
            slow_start: policy.slow_start,
            attempts: policy.attempts,
            key,
            now,
        }
    }

    /// Current position of a candidate; `None` if it was removed.
    pub(crate) fn find(&self, pick: Pick) -> Option<EndpointIdx> {
        let is_it = |state: &EndpointState| state.serial == pick.serial;
        if self.states.get(pick.was_at).is_some_and(is_it) {
            return Some(pick.was_at);
        }
        self.states.iter().position(is_it)
    }

    /// A request is on its way.
    pub(crate) fn request_started(&mut self, idx: EndpointIdx) {
        if let Some(state) = self.states.get_mut(idx) {
            state.in_flight += 1;
            self.in_flight += 1;
        }
    }

    /// A request is over, however it ended.
    pub(crate) fn request_ended(&mut self, idx: EndpointIdx) {
        if let Some(state) = self.states.get_mut(idx).filter(|state| state.in_flight > 0) {
            state.in_flight -= 1;
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }

    pub(crate) fn state_mut(&mut self, idx: EndpointIdx) -> Option<&mut EndpointState> {
        self.states.get_mut(idx)
    }

    /// One attempt on an endpoint failed or did not; one failure too many ejects it, until the moment that comes back.
    pub(crate) fn record_result(
        &mut self,
        idx: EndpointIdx,
        failed: bool,
        outlier: &Outlier,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.refresh(Some(outlier), now);
        let may_eject = self.eligible.ejected() < outlier.allowance(self.endpoints.len());
        let record = &mut self.states.get_mut(idx)?.record;
        if !failed {
            record.succeeded();
            return None;
        }
        if !record.failed(outlier) || !may_eject || record.is_ejected(now) {
            return None;
        }
        record.eject(outlier, now);
        let until = record.ejected_until();
        self.update_eligible(Some(outlier), now);
        Some(until)
    }
}
