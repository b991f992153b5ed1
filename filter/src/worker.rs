//! The state of one worker: what all contexts of a VM share.

mod decide;
mod log;

use std::cell::RefCell;
use std::time::Duration;

use proxy_wasm::types::LogLevel;
use sluice_filter_config::{Control, Host, PluginConfig, Tables as Update};
use sluice_filter_core::connections::Connections;
use sluice_filter_core::scope::Asked;
use sluice_filter_core::{Feed, Refused, Switch, Tables, Timestamp};

use crate::fate::Fate;
use crate::open::Open;
use crate::rng::SplitMix64;
use crate::{answer, host, lookup, observation, signals};

/// Restarts a poll that failed; a healthy poll does not need it.
pub(crate) const TICK: Duration = Duration::from_millis(50);
/// How long a request waits for the first tables before the data plane's own balancing serves it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longer than the controller holds a poll, so that only a dead connection times out.
const POLL_TIMEOUT: Duration = Duration::from_secs(60);

/// One per VM, in a thread-local: it outlives root contexts, which are replaced with every plugin configuration.
#[derive(Debug)]
pub(crate) struct Worker {
    host: Host,
    control: Option<Control>,
    tables: Tables,
    feed: Feed,
    rng: SplitMix64,
    open: Open,
    connections: Connections,
    give_up: Option<Timestamp>,
    unknown_locations: Option<u32>,
    /// Whether the host has started this VM, and not only put it in the place of another.
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
        let mut rng = SplitMix64::seeded();
        Worker {
            host: Host::default(),
            control: None,
            tables: Tables::default(),
            feed: Feed::default(),
            connections: Connections::new(&mut rng),
            rng,
            open: Open::default(),
            give_up: None,
            unknown_locations: None,
            is_started: false,
            configured: Timestamp::default(),
        }
    }

    pub(crate) fn started(&mut self) {
        self.is_started = true;
    }

    /// Whether a tick is one for this VM. After a trap, ngx_wasm_module goes on with the timers of the VM before, and takes
    /// a call that such a one makes for a second trap, until the new timer has come for the first time.
    pub(crate) fn trusts_ticks(&self) -> bool {
        self.host != Host::NgxWasm
            || self.is_started
            || host::now() >= self.configured.after(TICK.saturating_mul(2))
    }

    /// Takes a checkpoint. `false` refuses it, and the host keeps the last good one.
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
            self.feed.restart();
        }
        // Once the log has begun, a checkpoint is older than what it brought.
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
        self.unknown_locations = counts
            .then(|| host::counter("sluice.unknown_locations"))
            .flatten();
        true
    }

    /// Decides a request that has just arrived.
    pub(crate) fn handle(&mut self, context: u32) -> Fate {
        let location = signals::location(self.host);
        if self.host == Host::NgxWasm && location.as_deref().is_none_or(str::is_empty) {
            return self.go_on(context);
        }
        let Some(location) = location else {
            return self.without_location(context);
        };
        if self.host == Host::ManagedEnvoy && lookup::is_encoded(&location) {
            // Whatever comes later than the policies must not look for another route.
            return if lookup::is_before() {
                lookup::resolve_path()
            } else {
                Fate::GoesOn
            };
        }
        if self.tables.version().is_none() && self.may_wait(context) {
            return Fate::Waits;
        }
        self.decide(context, &location)
    }

    /// Nothing takes this request. In an Envoy that looks for each host by itself, not in its first try.
    fn without_location(&mut self, context: u32) -> Fate {
        if self.host == Host::ManagedEnvoy && lookup::is_before() {
            return self.find_scope(context);
        }
        signals::forward_anywhere(self.host);
        Fate::GoesOn
    }

    fn find_scope(&mut self, context: u32) -> Fate {
        let asked = Asked::parse(&host::request_header(":authority").unwrap_or_default());
        if asked.needs_tables() && self.tables.version().is_none() && self.may_wait(context) {
            return Fate::Waits;
        }
        lookup::look_in(asked.scope(&self.tables));
        lookup::resolve_path()
    }

    /// A retry in a context of its own: the candidates are there already.
    fn go_on(&mut self, retry: u32) -> Fate {
        if let Some(first) = signals::signed() {
            self.open.hand_over(first, retry);
        }
        Fate::GoesOn
    }

    fn apply(&mut self, update: Update) -> Result<(), Refused> {
        self.replace(update)?;
        self.resume_waiting();
        Ok(())
    }

    fn replace(&mut self, update: Update) -> Result<(), Refused> {
        self.tables.apply(update, host::now(), &mut self.rng)?;
        for Switch { backend, from, to } in self.tables.switched() {
            host::log(
                LogLevel::Info,
                &format!("backend {backend:?}: load balancing changes from {from} to {to}"),
            );
        }
        Ok(())
    }

    /// Before the first tables a request waits, so that a starting worker breaks no session. Not for long: a
    /// controller that is down must not hold traffic up.
    fn may_wait(&mut self, context: u32) -> bool {
        let now = host::now();
        let give_up = *self.give_up.get_or_insert(now.after(PATIENCE));
        let Some(control) = self.control.as_ref().filter(|_| now < give_up) else {
            return false;
        };
        if self.host != Host::NgxWasm {
            self.open.wait(context);
            return true;
        }
        let path = self.feed.path(None);
        let token = host::get(&control.upstream, &control.authority, &path, PATIENCE);
        if let Some(token) = token {
            self.open.ask(token, context);
        }
        token.is_some()
    }

    /// The request whose own call has this token.
    pub(crate) fn asked(&mut self, token: u32) -> Option<u32> {
        self.open.asked(token)
    }

    /// The answer for a request that waited: the host resumes it when this returns. The poll may have been quicker.
    pub(crate) fn answered_itself(&mut self, context: u32, status: Option<u16>, body: &[u8]) {
        if self.tables.version().is_none() && status == Some(200) {
            self.take_log(body);
        }
        if let Some(location) = signals::location(self.host) {
            self.decide(context, &location);
        }
    }

    /// Writes anew what a pod says about where it is, where that is asked for.
    pub(crate) fn rewrite(&self, context: u32) {
        if let Some(rewrites) = self.open.rewrites(context) {
            answer::rewrite(rewrites);
        }
    }

    /// Sets the cookie of a new session, now that it is known which endpoint answered.
    pub(crate) fn begin_session(&mut self, context: u32) {
        let Some(ticket) = self
            .open
            .ticket(context)
            .filter(|ticket| ticket.awaits_response())
        else {
            return;
        };
        let Some(endpoint) = observation::answering_endpoint(self.host) else {
            return;
        };
        let https = observation::is_https(self.host);
        if let Some(cookie) = self
            .tables
            .session_cookie(ticket, &endpoint, https, host::now())
        {
            host::add_response_header("set-cookie", cookie.as_bytes());
        }
    }

    /// A request is over, and the host still knows how it went.
    pub(crate) fn learn(&mut self, context: u32) {
        self.uncount(context);
        let Some(ticket) = self.open.close(context) else {
            return;
        };
        let watch = ticket.watch();
        let observation = (watch.latency || watch.failures)
            .then(|| observation::Observation::of(self.host, watch));
        let outcome = observation.as_ref().map(observation::Observation::outcome);
        self.tables.ended(ticket, outcome.as_ref(), host::now());
    }

    /// A request is over, and that is all that is known.
    pub(crate) fn abandon(&mut self, context: u32) {
        self.uncount(context);
        if let Some(ticket) = self.open.close(context) {
            self.tables.ended(ticket, None, host::now());
        }
    }

    fn uncount(&mut self, context: u32) {
        if let Some(client) = self.open.uncount(context) {
            self.connections.leave(client, &host::SharedData);
        }
    }

    /// Says that what this worker has in process is still so.
    pub(crate) fn beat(&mut self) {
        self.connections.tick(host::now, &host::SharedData);
    }

    /// Lets requests go that have waited long enough for tables that do not come.
    pub(crate) fn check_patience(&mut self) {
        if !self.open.is_anybody_waiting()
            || self.give_up.is_none_or(|give_up| host::now() < give_up)
        {
            return;
        }
        let message =
            "no tables from the controller; the data plane's own balancing serves until they come";
        host::log(LogLevel::Warn, message);
        self.resume_waiting();
    }

    fn resume_waiting(&mut self) {
        for context in self.open.waiting() {
            if !host::switch_to(context) {
                continue;
            }
            let fate = match signals::location(self.host) {
                Some(location) => self.decide(context, &location),
                None => self.without_location(context),
            };
            if fate == Fate::GoesOn {
                host::resume_request();
            }
        }
    }
}

fn refuse(reason: &str) -> bool {
    host::log(LogLevel::Error, reason);
    false
}
