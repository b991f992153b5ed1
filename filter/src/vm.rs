//! The state of one VM: what all contexts share.

mod poll;

use std::cell::RefCell;
use std::time::Duration;

use proxy_wasm::types::Action;
use sluice_filter_config::host_contract::{Copies, UNKNOWN_ROUTES};
use sluice_filter_config::{Control, Host, PluginConfig, Tables as Update};
use sluice_filter_core::{ApplyError, LongPoll, Timestamp};
use sluice_filter_worker::{
    LogLevel, MAX_WAIT, Pending, Refusals, RequestAction, SharedCounters, Worker,
};

use crate::host::SharedData;
use crate::in_flight::InFlight;
use crate::rng::seeded_rng;
use crate::stream::HostStream;
use crate::{host, host_contract, observation};

/// Restarts a poll that failed; a healthy poll does not need it.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// One per VM, in a thread-local: it outlives root contexts, which are replaced with every plugin configuration.
#[derive(Debug)]
pub(crate) struct Vm {
    host: Host,
    control: Option<Control>,
    worker: Worker<SharedCounters<SharedData>>,
    long_poll: LongPoll,
    refusals: Refusals,
    in_flight: InFlight,
    wait_until: Option<Timestamp>,
    unknown_routes: Option<u32>,
    /// True if this VM prepares copies for mirrors, which need no tables.
    prepares_copies: bool,
    /// True if the host has started this VM; false if it only replaced another with it.
    is_started: bool,
    configured: Timestamp,
}

thread_local! {
    static VM: RefCell<Vm> = RefCell::new(Vm::new());
}

impl Vm {
    /// Something to do for this VM.
    pub(crate) fn with<R>(work: impl FnOnce(&mut Vm) -> R) -> R {
        VM.with_borrow_mut(work)
    }

    fn new() -> Self {
        let mut rng = seeded_rng();
        let counters = SharedCounters::new(SharedData, &mut rng);
        Vm {
            host: Host::default(),
            control: None,
            worker: Worker::new(counters, rng),
            long_poll: LongPoll::default(),
            refusals: Refusals::default(),
            in_flight: InFlight::default(),
            wait_until: None,
            unknown_routes: None,
            prepares_copies: false,
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
        if data_plane == Host::ManagedEnvoy && own_copies().is_some() {
            self.prepares_copies = true;
            return true;
        }
        let zone = config.zone.or_else(|| observation::own_zone(data_plane));
        if self.worker.set_zone(zone) {
            self.long_poll.restart();
        }
        // Once the log has begun, a bootstrap configuration is older than what it brought.
        let superseded = config.control.is_some() && self.worker.tables().version().is_some();
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

    /// True if this VM has no requests, but copies of them.
    pub(crate) fn prepares_copies(&self) -> bool {
        self.prepares_copies
    }

    /// The form of the current copy; `None` if this VM has requests.
    pub(crate) fn copies(&self) -> Option<Copies> {
        self.prepares_copies.then(own_copies).flatten()
    }

    /// Decides a request that has just arrived.
    pub(crate) fn on_request_headers(&mut self, context: u32) -> Action {
        if self.host == Host::NgxWasm && host_contract::route(self.host).is_none() {
            self.continue_retry(context);
            return Action::Continue;
        }
        let (stream, mut pending) = (self.stream(), Pending::default());
        let mut action = self.worker.on_request_headers(&stream, &mut pending);
        if action == RequestAction::Wait {
            if self.try_wait(context) {
                return Action::Pause;
            }
            action = self.worker.on_resume(&stream, &mut pending);
        }
        self.keep(context, pending);
        match action {
            RequestAction::Continue => Action::Continue,
            RequestAction::Respond | RequestAction::Wait => Action::Pause,
        }
    }

    pub(crate) fn stream(&self) -> HostStream {
        HostStream::new(self.host, self.unknown_routes)
    }

    fn keep(&mut self, context: u32, pending: Pending) {
        if self.host == Host::NgxWasm && pending.has_token() {
            host_contract::set_retry_owner(context);
        }
        self.in_flight.keep(context, pending);
    }

    /// A retry in a context of its own: the candidates are there already.
    fn continue_retry(&mut self, retry: u32) {
        if let Some(first) = host_contract::retry_owner() {
            self.in_flight.hand_over(first, retry);
        }
    }

    fn apply(&mut self, update: Update) -> Result<(), ApplyError> {
        self.replace(update)?;
        self.resume_waiting();
        Ok(())
    }

    fn replace(&mut self, update: Update) -> Result<(), ApplyError> {
        for change in self.worker.apply(update, host::now())? {
            host::log(LogLevel::Info, &change);
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
        if self.worker.tables().version().is_none() && status == Some(200) {
            self.apply_document(body);
        }
        self.resume(context);
    }

    /// An endpoint has answered.
    pub(crate) fn on_response_headers(&mut self, context: u32) {
        let stream = self.stream();
        if let Some(pending) = self.in_flight.pending(context) {
            self.worker.on_response_headers(&stream, pending);
        }
    }

    /// A request is over, and the host still knows how it went.
    pub(crate) fn complete(&mut self, context: u32) {
        let stream = self.stream();
        if let Some(pending) = self.in_flight.close(context) {
            self.worker.complete(&stream, pending);
        }
    }

    /// A request is over, and that is all that is known.
    pub(crate) fn cancel(&mut self, context: u32) {
        if let Some(pending) = self.in_flight.close(context) {
            self.worker.cancel(pending, host::now());
        }
    }

    /// Says that what this worker has in process is still so.
    pub(crate) fn heartbeat(&mut self) {
        self.worker.counters().heartbeat(host::now);
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
            if host::switch_to(context) && self.resume(context) == RequestAction::Continue {
                host::resume_request();
            }
        }
    }

    fn resume(&mut self, context: u32) -> RequestAction {
        let (stream, mut pending) = (self.stream(), Pending::default());
        let action = self.worker.on_resume(&stream, &mut pending);
        self.keep(context, pending);
        action
    }
}

/// The form of the copies that the current plugin prepares. Plugins of mirrors have a VM of their own.
fn own_copies() -> Option<Copies> {
    Copies::of_filter(&host::property(b"plugin_name")?)
}

fn refuse(reason: &str) -> bool {
    host::log(LogLevel::Error, reason);
    false
}
