//! The endpoints of a backend with everything that is known of them: what a choice is made from.

use crate::balance::ring::Ring;
use crate::balance::{Ewma, Field};
use crate::outcome::{Pick, Serials};
use crate::outlier::Outlier;
use crate::policy::Policy;
use crate::pool::Pool;
use crate::vitals::Vitals;
use crate::{EndpointIdx, Endpoints, Timestamp};

/// Endpoints, frozen, and their state, live.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    endpoints: Endpoints,
    vitals: Vec<Vitals>,
    pool: Pool,
    ring: Ring,
    in_flight: u32,
}

impl Roster {
    /// These endpoints; what `old` knew of those that stay moves over.
    pub(crate) fn succeed(
        old: &Roster,
        endpoints: Endpoints,
        serials: &mut Serials,
        now: Timestamp,
    ) -> Self {
        let known = |idx| {
            old.vitals
                .get(old.endpoints.position(endpoints.address(idx)?)?)
                .cloned()
        };
        // Those that are there from the start are not new.
        let joined = if old.endpoints.is_empty() {
            Timestamp::default()
        } else {
            now
        };
        let mut join = || Vitals {
            serial: serials.next(),
            joined,
            ..Vitals::default()
        };
        let vitals: Vec<Vitals> = (0..endpoints.len())
            .map(|idx| known(idx).unwrap_or_else(&mut join))
            .collect();
        let in_flight = vitals.iter().map(|vitals| vitals.in_flight).sum();
        Roster {
            endpoints,
            vitals,
            in_flight,
            ..Roster::default()
        }
    }

    pub(crate) fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    pub(crate) fn vitals(&self) -> &[Vitals] {
        &self.vitals
    }

    /// Gives those that joined with the last change the mean response time of the others.
    pub(crate) fn welcome(&mut self, now: Timestamp) {
        Ewma::welcome(&mut self.vitals, now);
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
    pub(crate) fn look(&mut self, outlier: Option<&Outlier>, now: Timestamp) {
        self.pool = Pool::of(&self.endpoints, &self.vitals, outlier, now);
    }

    /// Lets ejected endpoints come back whose time has come; they begin anew.
    pub(crate) fn refresh(&mut self, outlier: Option<&Outlier>, now: Timestamp) {
        if !self.pool.is_stale(now) {
            return;
        }
        let looked = self.pool.looked_at();
        let back =
            |vitals: &&mut Vitals| vitals.record.is_out(looked) && !vitals.record.is_out(now);
        for vitals in self.vitals.iter_mut().filter(back) {
            vitals.joined = now;
        }
        self.look(outlier, now);
    }

    /// What a balancer sees of it.
    pub(crate) fn field<'a>(&'a self, policy: &Policy, key: &'a [u8], now: Timestamp) -> Field<'a> {
        Field {
            endpoints: &self.endpoints,
            pool: &self.pool,
            vitals: &self.vitals,
            ring: &self.ring,
            in_flight_of_all: self.in_flight,
            slow_start: policy.slow_start,
            attempts: policy.attempts,
            key,
            now,
        }
    }

    /// Where a candidate is now; nowhere when it left.
    pub(crate) fn find(&self, pick: Pick) -> Option<EndpointIdx> {
        let is_it = |vitals: &Vitals| vitals.serial == pick.serial;
        if self.vitals.get(pick.was_at).is_some_and(is_it) {
            return Some(pick.was_at);
        }
        self.vitals.iter().position(is_it)
    }

    /// A request is on its way.
    pub(crate) fn sent(&mut self, idx: EndpointIdx) {
        if let Some(vitals) = self.vitals.get_mut(idx) {
            vitals.in_flight += 1;
            self.in_flight += 1;
        }
    }

    /// A request is over, however it ended.
    pub(crate) fn ended(&mut self, idx: EndpointIdx) {
        if let Some(vitals) = self
            .vitals
            .get_mut(idx)
            .filter(|vitals| vitals.in_flight > 0)
        {
            vitals.in_flight -= 1;
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }

    pub(crate) fn vitals_mut(&mut self, idx: EndpointIdx) -> Option<&mut Vitals> {
        self.vitals.get_mut(idx)
    }

    /// One attempt on an endpoint failed or did not; one failure too many ejects it.
    pub(crate) fn judge(
        &mut self,
        idx: EndpointIdx,
        failed: bool,
        outlier: &Outlier,
        now: Timestamp,
    ) {
        self.refresh(Some(outlier), now);
        let may_eject = self.pool.ejected() < outlier.allowance(self.endpoints.len());
        let Some(vitals) = self.vitals.get_mut(idx) else {
            return;
        };
        if !failed {
            vitals.record.succeeded();
        } else if vitals.record.failed(outlier) && may_eject && !vitals.record.is_out(now) {
            vitals.record.eject(outlier, now);
            self.look(Some(outlier), now);
        }
    }
}
