//! The state of one worker, and the life of a request in it.

use sluice_filter_config::Tables as Update;
use sluice_filter_config::host_contract::SCOPE_HEADER;
use sluice_filter_core::path_patterns::PatternLists;
use sluice_filter_core::scope::Asked;
use sluice_filter_core::{AlgorithmChange, ApplyError, SplitMix64, Tables, Timestamp};

use crate::{Counters, Pending, RequestAction, Stream, lookup, response};

/// Tables, randomness and counters of one worker of a data plane.
#[derive(Debug)]
pub struct Worker<C> {
    pub(crate) tables: Tables,
    pub(crate) rng: SplitMix64,
    pub(crate) counters: C,
    /// Patterns of paths, as hosts need them.
    patterns: PatternLists,
}

impl<C: Counters> Worker<C> {
    /// A worker without tables.
    pub fn new(counters: C, rng: SplitMix64) -> Self {
        Worker {
            tables: Tables::default(),
            rng,
            counters,
            patterns: PatternLists::default(),
        }
    }

    /// Its tables.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Its counters.
    pub fn counters(&mut self) -> &mut C {
        &mut self.counters
    }

    /// Says where the data plane runs; `true` when compiled backends are to be asked for again.
    #[must_use]
    pub fn set_zone(&mut self, zone: Option<String>) -> bool {
        self.tables.set_zone(zone)
    }

    /// Takes a snapshot or a delta, whole or not at all. Gives a line for the log for each backend that chooses in another way from now on.
    pub fn apply(
        &mut self,
        update: Update,
        now: Timestamp,
    ) -> Result<impl Iterator<Item = String> + use<C>, ApplyError> {
        self.tables.apply(update, now, &mut self.rng)?;
        let changes = self.tables.take_algorithm_changes().into_iter();
        Ok(changes.map(|AlgorithmChange { backend, from, to }| {
            format!("backend {backend:?}: load balancing changes from {from} to {to}")
        }))
    }

    /// Request headers have come.
    pub fn on_request_headers(
        &mut self,
        stream: &impl Stream,
        pending: &mut Pending,
    ) -> RequestAction {
        self.begin(stream, pending, true)
    }

    /// A request that waited goes on, with tables or without: then the data plane's own balancing serves it.
    pub fn on_resume(&mut self, stream: &impl Stream, pending: &mut Pending) -> RequestAction {
        self.begin(stream, pending, false)
    }

    fn begin(
        &mut self,
        stream: &impl Stream,
        pending: &mut Pending,
        may_wait: bool,
    ) -> RequestAction {
        let may_wait = may_wait && self.tables.version().is_none();
        let Some(route) = stream.route() else {
            return self.without_route(stream, may_wait);
        };
        if stream.is_managed_envoy() && lookup::is_unresolved(&route) {
            // Whatever comes later than the policies must not look for another route.
            if !stream.is_before_lookup() {
                return RequestAction::Continue;
            }
            return match lookup::resolve_path(stream) {
                RequestAction::Continue => {
                    lookup::match_patterns(stream, &mut self.patterns, &route)
                }
                resolved => resolved,
            };
        }
        if may_wait {
            return RequestAction::Wait;
        }
        self.decide(stream, &route, pending)
    }

    /// Nothing takes this request. In an Envoy that looks for each host by itself, not in its first try.
    fn without_route(&mut self, stream: &impl Stream, may_wait: bool) -> RequestAction {
        if !(stream.is_managed_envoy() && stream.is_before_lookup()) {
            stream.clear_choice();
            return RequestAction::Continue;
        }
        let authority = stream.first_header(":authority").unwrap_or_default();
        let asked = Asked::parse(&authority);
        if may_wait && asked.needs_tables() {
            return RequestAction::Wait;
        }
        stream.set_request_header(SCOPE_HEADER, asked.scope(&self.tables).as_bytes());
        lookup::resolve_path(stream)
    }

    /// Response headers have come.
    pub fn on_response_headers(&mut self, stream: &impl Stream, pending: &Pending) {
        // The pod's own cookies: that of a session of ours is not there yet.
        if let Some(rewrites) = &pending.rewrites {
            response::rewrite(stream, rewrites);
        }
        self.set_session_cookie(stream, pending);
    }

    /// Sets the cookie of a new session, now that it is known which endpoint answered.
    fn set_session_cookie(&mut self, stream: &impl Stream, pending: &Pending) {
        let token = pending.token.as_ref();
        let Some(token) = token.filter(|token| token.awaits_response()) else {
            return;
        };
        let Some(endpoint) = stream.upstream_address() else {
            return;
        };
        let (https, now) = (stream.is_https(), stream.now());
        if let Some(cookie) = self.tables.session_cookie(token, &endpoint, https, now) {
            stream.add_response_header("set-cookie", cookie.as_bytes());
        }
    }

    /// A request is over, and the host still knows how it went.
    pub fn complete(&mut self, stream: &impl Stream, pending: Pending) {
        if let Some(client) = pending.client {
            self.counters.leave(client);
        }
        let Some(token) = pending.token else { return };
        let interest = token.interest();
        let observation = (interest.latency || interest.failures).then(|| stream.observe(interest));
        let outcome = observation.as_ref().map(crate::Observation::outcome);
        self.tables.complete(token, outcome.as_ref(), stream.now());
    }

    /// A request is over, and that is all that is known.
    pub fn cancel(&mut self, pending: Pending, now: Timestamp) {
        if let Some(client) = pending.client {
            self.counters.leave(client);
        }
        if let Some(token) = pending.token {
            self.tables.complete(token, None, now);
        }
    }
}
