//! One backend: how it chooses, and what it chooses from.

use std::rc::Rc;
use std::time::Duration;

use crate::affinity::{
    self, Affinity, AffinityMode, Balanced, Persistent, Placement, Session, UpstreamKey,
};
use crate::balance::{AnyBalancer, Candidates, Needs, Response, Setup};
use crate::ejections::Ejections;
use crate::endpoint_set::EndpointSet;
use crate::endpoint_state::Serial;
use crate::outcome::{Interest, NewSession, Outcome, Picks, Serials};
use crate::policy::{CompiledBackend, Policy};
use crate::{EndpointIdx, Endpoints, Request, Rng, Timestamp};

/// A service port as the filter balances it.
#[derive(Debug)]
pub struct Backend {
    name: String,
    policy: Policy,
    balancer: AnyBalancer,
    endpoint_set: EndpointSet,
    persistent: Option<Persistent>,
    backend_key: Option<affinity::Hex>,
}

impl Backend {
    /// Brings a compiled to life. What its predecessor learnt of the endpoints that stay moves over.
    pub(crate) fn new(
        compiled: CompiledBackend,
        predecessor: Option<Backend>,
        serials: &mut Serials,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Self {
        let mut backend = match predecessor {
            Some(old) if old.endpoint_set.endpoints().same_set(&compiled.endpoints) => {
                old.with_policy(compiled, rng)
            }
            old => {
                let old = old.map(|old| old.endpoint_set).unwrap_or_default();
                Backend::with_endpoint_set(
                    EndpointSet::succeeding(&old, compiled.endpoints, serials, now),
                    compiled.name,
                    compiled.policy,
                    rng,
                )
            }
        };
        if backend.needs().latency {
            backend.endpoint_set.start_at_mean_latency(now);
        }
        backend
            .endpoint_set
            .update_eligible(backend.policy.outlier.as_ref(), now);
        backend.prepare();
        backend
    }

    /// The same endpoints: the position in the cycle stays too, where the algorithm does.
    fn with_policy(self, compiled: CompiledBackend, rng: &mut impl Rng) -> Self {
        let CompiledBackend { name, policy, .. } = compiled;
        let same = |a: &Policy, b: &Policy| {
            (a.load_balance, a.slow_start) == (b.load_balance, b.slow_start)
        };
        if self.name == name && same(&self.policy, &policy) {
            return Backend { policy, ..self };
        }
        Backend::with_endpoint_set(self.endpoint_set, name, policy, rng)
    }

    fn with_endpoint_set(
        endpoint_set: EndpointSet,
        name: String,
        policy: Policy,
        rng: &mut impl Rng,
    ) -> Self {
        let setup = Setup {
            endpoints: endpoint_set.endpoints(),
            slow_start: policy.slow_start,
            parameters: policy.load_balance.parameters,
        };
        let balancer = AnyBalancer::new(policy.load_balance.algorithm, &setup, rng);
        Backend {
            name,
            policy,
            balancer,
            endpoint_set,
            persistent: None,
            backend_key: None,
        }
    }

    /// Makes what every request needs before the first one comes.
    fn prepare(&mut self) {
        match self.policy.affinity.as_ref().map(|affinity| affinity.mode) {
            Some(mode) => self.prepare_sessions(mode),
            None if self.needs().ring => self.endpoint_set.make_ring(),
            None => {}
        }
    }

    /// Nothing to do, but for the first request after a change that comes to a canary with the primary's affinity.
    fn prepare_sessions(&mut self, mode: AffinityMode) {
        match mode {
            AffinityMode::Balanced => self.endpoint_set.make_ring(),
            AffinityMode::Persistent if self.persistent.is_none() => {
                self.persistent = Some(Persistent::new(&self.name, self.endpoint_set.endpoints()));
            }
            AffinityMode::Persistent => {}
        }
    }

    /// The endpoints.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        self.endpoint_set.endpoints()
    }

    fn needs(&self) -> Needs {
        self.policy.load_balance.algorithm.needs()
    }

    /// The algorithm by name.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.policy.algorithm()
    }

    /// Its own affinity.
    #[must_use]
    pub fn affinity(&self) -> Option<&Rc<Affinity>> {
        self.policy.affinity.as_ref()
    }

    /// How many headers its algorithm reads.
    #[must_use]
    pub fn headers(&self) -> usize {
        self.policy.key.headers()
    }

    /// Events that the policy needs at the end of a request.
    #[must_use]
    pub fn interest(&self) -> Interest {
        let needs = self.needs();
        let latency = needs.latency;
        let failures = self.policy.outlier.is_some();
        let status = failures || needs.failures;
        Interest {
            end: latency || failures || needs.in_flight,
            latency,
            status,
            failures,
        }
    }

    /// Key of this backend in session cookies.
    pub fn backend_key(&mut self) -> affinity::Hex {
        *self
            .backend_key
            .get_or_insert_with(|| affinity::backend_key(&self.name))
    }

    /// True if the cookies have a session of this backend.
    pub fn has_session(&mut self, cookies: &[u8], affinity: &Affinity) -> bool {
        let key = self.backend_key();
        let session = Session::find(cookies, &affinity.cookie.name, &key);
        session.is_some_and(|session| session.backend_key == Some(&key))
    }

    /// Chooses for a request of a backend with sessions.
    pub fn place(
        &mut self,
        affinity: &Affinity,
        cookies: Option<&[u8]>,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Placement {
        self.endpoint_set.refresh(self.policy.outlier.as_ref(), now);
        self.prepare_sessions(affinity.mode);
        let backend_key = self.backend_key();
        let session =
            cookies.and_then(|header| Session::find(header, &affinity.cookie.name, &backend_key));
        let key = session.map(|session| session.upstream_key);
        let context = self
            .endpoint_set
            .pick_context(&self.policy, key.unwrap_or_default(), now);
        match (affinity.mode, &self.persistent) {
            (AffinityMode::Persistent, Some(persistent)) => {
                affinity::place(persistent, affinity.change_on_failure, key, &context, rng)
            }
            _ => affinity::place(&Balanced, affinity.change_on_failure, key, &context, rng),
        }
    }

    /// Chooses for a request of a backend without sessions. `key` is scratch space.
    pub fn balance(
        &mut self,
        request: &impl Request,
        key: &mut Vec<u8>,
        now: Timestamp,
        rng: &mut impl Rng,
    ) -> Candidates {
        self.endpoint_set.refresh(self.policy.outlier.as_ref(), now);
        key.clear();
        self.policy.key.evaluate(request, key);
        let context = self.endpoint_set.pick_context(&self.policy, key, now);
        self.balancer.pick(&context, rng)
    }

    /// Remembers the candidates, and that a request is on its way to the first of them.
    pub(crate) fn sent(&mut self, candidates: &Candidates) -> Picks {
        if let Some(first) = candidates.iter().next() {
            self.endpoint_set.request_started(first);
        }
        self.remember(candidates)
    }

    /// Remembers who the candidates are.
    pub(crate) fn remember(&self, candidates: &Candidates) -> Picks {
        Picks::from_candidates(candidates, self.endpoint_set.states())
    }

    /// A request is over, and this is all that is known of it.
    pub(crate) fn ended(&mut self, picks: &Picks) {
        if let Some(idx) = picks.first().and_then(|pick| self.endpoint_set.find(pick)) {
            self.endpoint_set.request_ended(idx);
        }
    }

    /// Learns from a request that is over.
    pub(crate) fn observe(
        &mut self,
        picks: &Picks,
        outcome: &Outcome<'_>,
        now: Timestamp,
        ejections: &mut Ejections,
    ) {
        // A client that went away before there was a response says nothing of the endpoint.
        if outcome.status.is_none() && outcome.response_time.is_none() {
            return;
        }
        let Some(idx) = outcome
            .endpoint
            .and_then(|address| self.position(picks, address))
        else {
            return;
        };
        let failed = outcome.status.is_some_and(|status| status >= 500);
        if let Some(outlier) = self.policy.outlier {
            // Attempts are made in the order of the candidates; those before the last one failed.
            let earlier = usize::try_from(outcome.attempts.saturating_sub(1)).unwrap_or(usize::MAX);
            let tried: Vec<_> = picks
                .iter()
                .take(earlier)
                .map_while(|pick| self.endpoint_set.find(pick).filter(|&at| at != idx))
                .map(|idx| (idx, true))
                .collect();
            for (idx, failed) in tried.into_iter().chain([(idx, failed)]) {
                let until = self.endpoint_set.record_result(idx, failed, &outlier, now);
                let address = self.endpoint_set.endpoints().address(idx);
                if let Some((address, until)) = address.zip(until) {
                    ejections.push(address, until);
                }
            }
        }
        self.measure(idx, outcome.response_time, failed, now);
    }

    fn measure(
        &mut self,
        idx: EndpointIdx,
        response_time: Option<Duration>,
        failed: bool,
        now: Timestamp,
    ) {
        let Some(state) = self.endpoint_set.state_mut(idx) else {
            return;
        };
        // Without a time it counts as none at all, as in ingress-nginx.
        let response = Response {
            seconds: response_time.unwrap_or_default().as_secs_f64(),
            failed,
        };
        let algorithm = self.policy.load_balance.algorithm;
        algorithm.observe(state, response, now);
    }

    /// The endpoint at a position, across tables.
    pub(crate) fn serial(&self, idx: EndpointIdx) -> Option<Serial> {
        self.endpoint_set
            .states()
            .get(idx)
            .map(|state| state.serial)
    }

    /// Position of the endpoint that answered: most likely among the candidates.
    pub(crate) fn position(&self, picks: &Picks, address: &str) -> Option<EndpointIdx> {
        let at = |idx| self.endpoint_set.endpoints().address(idx) == Some(address);
        let candidate = picks.iter().map(|pick| pick.was_at).find(|&idx| at(idx));
        candidate.or_else(|| self.endpoint_set.endpoints().position(address))
    }

    /// Key of the endpoint that answered, for the cookie of a new session; `None` if it is unknown.
    pub(crate) fn upstream_key(
        &self,
        session: &NewSession,
        idx: EndpointIdx,
    ) -> Option<UpstreamKey> {
        let serial = self.serial(idx)?;
        if session.stays == Some(serial) {
            return None;
        }
        match session.affinity.mode {
            AffinityMode::Persistent => {
                let key =
                    affinity::endpoint_key(&self.name, self.endpoint_set.endpoints().address(idx)?);
                Some(UpstreamKey::Endpoint(key))
            }
            AffinityMode::Balanced => {
                let key = session.keys.iter().find(|(known, _)| *known == serial)?;
                Some(UpstreamKey::Drawn(key.1))
            }
        }
    }
}
