//! The long poll for the log: an extension of the bootstrap, so that it is there as long as the process.
//!
//! A configuration of the filter cannot poll: it may end in a worker, and Envoy would cancel its call from there.

use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sluice_envoy_abi::{Extension, Process, Response, Timer};
use sluice_filter_config::{Control, PluginConfig};
use sluice_filter_core::{LongPoll, PollResult};
use sluice_filter_worker::{LogLevel, POLL_TIMEOUT, Refusals, apply_document};

use crate::clock::monotonic;
use crate::lock::lock;
use crate::{envoy_log, log, waiting};

static IS_STARTED: AtomicBool = AtomicBool::new(false);
static ZONE: Mutex<Option<String>> = Mutex::new(None);

/// True if the bootstrap of this Envoy has the extension.
pub(crate) fn is_started() -> bool {
    IS_STARTED.load(Ordering::Acquire)
}

/// The zone of this Envoy.
pub(crate) fn zone() -> Option<String> {
    lock(&ZONE).clone()
}

/// Asks the controller for the log.
pub struct Feed {
    control: Control,
    timer: Timer,
    long_poll: RefCell<LongPoll>,
    is_calling: Cell<bool>,
    refusals: RefCell<Refusals>,
}

impl Feed {
    /// Reads the configuration of the extension; without a result Envoy does not start.
    pub(crate) fn new(process: &Process<'_>, document: &[u8]) -> Option<Self> {
        let config = match PluginConfig::parse(document) {
            Ok(config) => config,
            Err(error) => return refuse(&error.to_string()),
        };
        let Some(control) = config.control else {
            return refuse("plugin configuration: expected `control`, got none");
        };
        *lock(&ZONE) = config.zone;
        let feed = Feed {
            control,
            timer: process.timer(),
            long_poll: RefCell::default(),
            is_calling: Cell::new(false),
            refusals: RefCell::default(),
        };
        // As soon as Envoy knows its clusters.
        feed.timer.start(Duration::ZERO);
        IS_STARTED.store(true, Ordering::Release);
        Some(feed)
    }

    fn poll(&self, process: &Process<'_>) {
        let path = {
            let mut long_poll = self.long_poll.borrow_mut();
            if !long_poll.is_due(monotonic()) {
                return;
            }
            long_poll.sent(monotonic());
            long_poll.path(log::version())
        };
        self.is_calling.set(true);
        let Control {
            upstream,
            authority,
        } = &self.control;
        // Envoy may answer before this returns.
        if !process.get(upstream, authority, &path, POLL_TIMEOUT) {
            self.ended(process, PollResult::Failed);
        }
    }

    fn ended(&self, process: &Process<'_>, result: PollResult) {
        if self.is_calling.replace(false) {
            self.long_poll.borrow_mut().ended(result, monotonic());
            self.poll_when_due(process);
        }
    }

    /// A timer may fire a little early.
    fn poll_when_due(&self, process: &Process<'_>) {
        let wait = self.long_poll.borrow().not_before().since(monotonic());
        if wait.is_zero() {
            self.poll(process);
        } else {
            self.timer.start(wait.max(Duration::from_millis(1)));
        }
    }

    fn apply(&self, document: &[u8]) -> PollResult {
        let applied = apply_document(document, |update| {
            log::publish(update)?;
            waiting::resume();
            Ok(())
        });
        let mut refusals = self.refusals.borrow_mut();
        refusals.poll_result(document, applied, envoy_log::write)
    }
}

impl Extension for Feed {
    fn on_timer(&self, process: &Process<'_>) {
        self.poll_when_due(process);
    }

    /// Takes the response to a poll, and sends the next one, even if a panic ends this.
    fn on_response(&self, process: &Process<'_>, response: Option<&Response<'_>>) {
        let mut call = Call {
            feed: self,
            process,
            result: PollResult::Failed,
        };
        call.result = match response.and_then(Response::status) {
            Some(200) => self.apply(&response.map(Response::body).unwrap_or_default()),
            Some(204) => PollResult::Unchanged,
            _ => PollResult::Failed,
        };
    }
}

/// A call that has been answered. It is over when this is dropped.
struct Call<'a> {
    feed: &'a Feed,
    process: &'a Process<'a>,
    result: PollResult,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.feed.ended(self.process, self.result);
    }
}

fn refuse(reason: &str) -> Option<Feed> {
    envoy_log::write(LogLevel::Error, reason);
    None
}
