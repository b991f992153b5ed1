//! The state of one worker: what all contexts of a VM share.

mod decide;
mod limits;
mod poll;

use std::cell::RefCell;
use std::time::Duration;

use proxy_wasm::types::LogLevel;
use sluice_filter_config::host_contract::UNKNOWN_ROUTES;
use sluice_filter_config::{Control, Host, PluginConfig, Tables as Update};
use sluice_filter_core::connections::Connections;
use sluice_filter_core::rates::Rates;
use sluice_filter_core::scope::Asked;
use sluice_filter_core::{AlgorithmChange, ApplyError, LongPoll, SplitMix64, Tables, Timestamp};

use crate::in_flight::InFlight;
use crate::request_action::RequestAction;
use crate::rng::seeded_rng;
use crate::{host, host_contract, lookup, observation, response};

/// Restarts a poll that failed; a healthy poll does not need it.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// How long a request waits for the first tables before the data plane's own balancing serves it.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Longer than the controller holds a poll, so that only a dead connection times out.
const POLL_TIMEOUT: Duration = Duration::from_secs(60);

/// One per VM, in a thread-local: it outlives root contexts, which are replaced with every plugin configuration.
#[derive(Debug)]
pub(crate) struct Worker {
    host: Host,
    control: Option<Control>,
    tables: Tables,
    long_poll: LongPoll,
    /// Hash of the document that was refused last, and logged; `None` once another one is applied.
    last_refused: Option<u64>,
    rng: SplitMix64,
    in_flight: InFlight,
    connections: Connections,
    rates: Rates,
    wait_until: Option<Timestamp>,
    unknown_routes: Option<u32>,
    /// True if the host has started this VM; false if it only replaced another with it.
    is_started: bool,
    configured: Timestamp,
}

thread_local! {
    static WORKER: RefCell<Worker> = RefCell::new(Worker::new());
}

impl Worker {
    /// Something to do for the worker of this VM.
    pub(crate) fn with<R>(work: impl FnOnce(&mut Worker) -> R) -> R {
        WORKER.with_borrow_mut(work)
    }

    fn new() -> Self {
        let mut rng = seeded_rng();
        Worker {
            host: Host::default(),
            control: None,
            tables: Tables::default(),
            long_poll: LongPoll::default(),
            last_refused: None,
            connections: Connections::new(&mut rng),
            rates: Rates::new(&mut rng),
            rng,
            in_flight: InFlight::default(),
            wait_until: None,
            unknown_routes: None,
            is_started: false,
            configured: Timestamp::default(),
        }
    }

    pub(crate) fn on_vm_start(&mut self) {
        self.is_started = true;
    }

    /// True if a tick is for this VM. After a trap, ngx_wasm_module keeps the timers of the former VM, and takes a call from
    /// such a timer for a second trap, until the new timer has fired for the first time.
    pub(crate) fn accepts_ticks(&self) -> bool {
        self.host != Host::NgxWasm
            || self.is_started
            || host::now() >= self.configured.after(TICK.saturating_mul(2))
    }

    /// Takes a bootstrap configuration. `false` refuses it, and the host keeps the last good one.
    pub(crate) fn configure(&mut self, document: &[u8]) -> bool {
        let config = match PluginConfig::parse(document) {
            Ok(config) => config,
            Err(error) => return refuse(&error.to_string()),
        };
        if config.control.is_none() && config.tables.is_none() {
            return refuse(
                "plugin configuration: expected `tables`, `control` or both, got neither",
            );
        }
        let data_plane = config.host.unwrap_or_default();
        if self
            .tables
            .set_zone(config.zone.or_else(|| observation::own_zone(data_plane)))
        {
            self.long_poll.restart();
        }
        // Once the log has begun, a bootstrap configuration is older than what it brought.
        let superseded = config.control.is_some() && self.tables.version().is_some();
        if let Some(update) = config.tables.filter(|_| !superseded)
            && let Err(error) = self.replace(update)
        {
            return refuse(&format!("plugin configuration: {error}"));
        }
        self.host = data_plane;
        if data_plane == Host::NgxWasm && !self.is_started {
            self.configured = host::now();
        }
        self.control = config.control;
        // A worker of ngx_wasm_module dies of it where nginx.conf does not say how many there are.
        let counts = data_plane != Host::NgxWasm;
        self.unknown_routes = counts.then(|| host::counter(UNKNOWN_ROUTES)).flatten();
        true
    }

    /// Decides a request that has just arrived.
    pub(crate) fn on_request_headers(&mut self, context: u32) -> RequestAction {
        let route = host_contract::route(self.host);
        if self.host == Host::NgxWasm && route.as_deref().is_none_or(str::is_empty) {
            return self.continue_retry(context);
        }
        let Some(route) = route else {
            return self.without_route(context);
        };
        if self.host == Host::ManagedEnvoy && lookup::is_encoded_route(&route) {
            // Whatever comes later than the policies must not look for another route.
            return if lookup::is_lookup_filter() {
                lookup::resolve_path()
            } else {
                RequestAction::Continue
            };
        }
        if self.tables.version().is_none() && self.try_wait(context) {
            return RequestAction::Pause;
        }
        self.decide(context, &route)
    }

    /// Nothing takes this request. In an Envoy that looks for each host by itself, not in its first try.
    fn without_route(&mut self, context: u32) -> RequestAction {
        if self.host == Host::ManagedEnvoy && lookup::is_lookup_filter() {
            return self.find_scope(context);
        }
        host_contract::clear_choice(self.host);
        RequestAction::Continue
    }

    fn find_scope(&mut self, context: u32) -> RequestAction {
        let asked = Asked::parse(&host::request_header(":authority").unwrap_or_default());
        if asked.needs_tables() && self.tables.version().is_none() && self.try_wait(context) {
            return RequestAction::Pause;
        }
        lookup::set_scope(asked.scope(&self.tables));
        lookup::resolve_path()
    }

    /// A retry in a context of its own: the candidates are there already.
    fn continue_retry(&mut self, retry: u32) -> RequestAction {
        if let Some(first) = host_contract::retry_owner() {
            self.in_flight.hand_over(first, retry);
        }
        RequestAction::Continue
    }

    fn apply(&mut self, update: Update) -> Result<(), ApplyError> {
        self.replace(update)?;
        self.resume_waiting();
        Ok(())
    }

    fn replace(&mut self, update: Update) -> Result<(), ApplyError> {
        self.tables.apply(update, host::now(), &mut self.rng)?;
        for AlgorithmChange { backend, from, to } in self.tables.take_algorithm_changes() {
            host::log(
                LogLevel::Info,
                &format!("backend {backend:?}: load balancing changes from {from} to {to}"),
            );
        }
        Ok(())
    }

    /// Before the first tables a request waits, so that a starting worker breaks no session. Not for long: a
    /// controller that is down must not hold traffic up.
    fn try_wait(&mut self, context: u32) -> bool {
        let now = host::now();
        let wait_until = *self.wait_until.get_or_insert(now.after(MAX_WAIT));
        let Some(control) = self.control.as_ref().filter(|_| now < wait_until) else {
            return false;
        };
        if self.host != Host::NgxWasm {
            self.in_flight.wait(context);
            return true;
        }
        let path = self.long_poll.path(None);
        let token = host::get(&control.upstream, &control.authority, &path, MAX_WAIT);
        if let Some(token) = token {
            self.in_flight.wait_for_call(token, context);
        }
        token.is_some()
    }

    /// The request whose own call has this token.
    pub(crate) fn waiting_for(&mut self, token: u32) -> Option<u32> {
        self.in_flight.waiting_for(token)
    }

    /// The answer for a request that waited: the host resumes it when this returns. The poll may have been quicker.
    pub(crate) fn on_own_call_response(&mut self, context: u32, status: Option<u16>, body: &[u8]) {
        if self.tables.version().is_none() && status == Some(200) {
            self.apply_document(body);
        }
        if let Some(route) = host_contract::route(self.host) {
            self.decide(context, &route);
        }
    }

    /// Writes anew what a pod says about where it is, where that is asked for.
    pub(crate) fn rewrite_response(&self, context: u32) {
        if let Some(rewrites) = self.in_flight.rewrites(context) {
            response::rewrite(rewrites);
        }
    }

    /// Sets the cookie of a new session, now that it is known which endpoint answered.
    pub(crate) fn set_session_cookie(&mut self, context: u32) {
        let Some(token) = self
            .in_flight
            .token(context)
            .filter(|token| token.awaits_response())
        else {
            return;
        };
        let Some(endpoint) = observation::upstream_address(self.host) else {
            return;
        };
        let https = observation::is_https(self.host);
        if let Some(cookie) = self
            .tables
            .session_cookie(token, &endpoint, https, host::now())
        {
            host::add_response_header("set-cookie", cookie.as_bytes());
        }
    }

    /// A request is over, and the host still knows how it went.
    pub(crate) fn complete(&mut self, context: u32) {
        self.release_connection(context);
        let Some(token) = self.in_flight.close(context) else {
            return;
        };
        let interest = token.interest();
        let observation = (interest.latency || interest.failures)
            .then(|| observation::Observation::read(self.host, interest));
        let outcome = observation.as_ref().map(observation::Observation::outcome);
        self.tables.complete(token, outcome.as_ref(), host::now());
    }

    /// A request is over, and that is all that is known.
    pub(crate) fn cancel(&mut self, context: u32) {
        self.release_connection(context);
        if let Some(token) = self.in_flight.close(context) {
            self.tables.complete(token, None, host::now());
        }
    }

    fn release_connection(&mut self, context: u32) {
        if let Some(client) = self.in_flight.release_connection(context) {
            self.connections.leave(client, &host::SharedData);
        }
    }

    /// Says that what this worker has in process is still so.
    pub(crate) fn heartbeat(&mut self) {
        self.connections.tick(host::now, &host::SharedData);
    }

    /// Lets requests go that have waited long enough for tables that do not come.
    pub(crate) fn resume_expired(&mut self) {
        if !self.in_flight.has_waiting()
            || self
                .wait_until
                .is_none_or(|wait_until| host::now() < wait_until)
        {
            return;
        }
        let message =
            "no tables from the controller; the data plane's own balancing serves until they come";
        host::log(LogLevel::Warn, message);
        self.resume_waiting();
    }

    fn resume_waiting(&mut self) {
        for context in self.in_flight.take_waiting() {
            if !host::switch_to(context) {
                continue;
            }
            let action = match host_contract::route(self.host) {
                Some(route) => self.decide(context, &route),
                None => self.without_route(context),
            };
            if action == RequestAction::Continue {
                host::resume_request();
            }
        }
    }
}

fn refuse(reason: &str) -> bool {
    host::log(LogLevel::Error, reason);
    false
}
