//! The long poll for the log, one for the process.
//!
//! Each listener has a configuration of the filter, and the newest one polls: a new address of the controller comes with it. When it ends,
//! another one goes on.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use sluice_envoy_abi::{Config, LogLevel, Response, Scheduler};
use sluice_filter_config::{Control, PluginConfig};
use sluice_filter_core::{ApplyError, LongPoll, PollResult};

use crate::clock::now;
use crate::lock::lock;
use crate::{log, waiting};

/// Longer than the controller holds a poll, so that only a dead connection times out.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The event that a configuration is to poll.
pub(crate) const POLL: u64 = 0;

static POLLER: Mutex<Poller> = Mutex::new(Poller {
    pollers: Vec::new(),
    next_id: 0,
    long_poll: LongPoll::new(),
    calling: None,
    last_refused: None,
});

struct Poller {
    /// Configurations that could poll; the last one does.
    pollers: Vec<(u64, Scheduler)>,
    next_id: u64,
    long_poll: LongPoll,
    /// The configuration whose call is under way.
    calling: Option<u64>,
    /// The document that was refused last, and logged; `None` once another one is applied.
    last_refused: Option<Vec<u8>>,
}

/// A configuration among those that can poll.
pub(crate) struct Registration {
    id: u64,
    control: Control,
}

impl Registration {
    /// Polls from now on, in place of others.
    pub(crate) fn new(control: Control, config: &Config<'_>) -> Self {
        let mut poller = lock(&POLLER);
        let id = poller.next_id;
        poller.next_id += 1;
        let scheduler = config.scheduler();
        scheduler.send(POLL);
        poller.pollers.push((id, scheduler));
        Registration { id, control }
    }

    /// Sends the next poll, if it is this configuration's turn and one is due.
    pub(crate) fn poll(&self, config: &Config<'_>) {
        let mut poller = lock(&POLLER);
        if poller.pollers.last().is_none_or(|(id, _)| *id != self.id) {
            return;
        }
        let now = now();
        if !poller.long_poll.is_due(now) {
            let wait = poller.long_poll.not_before().since(now);
            if !wait.is_zero() {
                poller.poll_after(wait);
            }
            return;
        }
        let path = poller.long_poll.path(log::version());
        let Control {
            upstream,
            authority,
        } = &self.control;
        // Envoy may call back before this returns.
        poller.long_poll.sent();
        poller.calling = Some(self.id);
        drop(poller);
        if !config.get(upstream, authority, &path, TIMEOUT) {
            self.ended(config, PollResult::Failed);
        }
    }

    /// Takes the response to a poll, and sends the next one, even if a panic ends this.
    pub(crate) fn on_response(&self, config: &Config<'_>, response: Option<&Response<'_>>) {
        let mut call = Call {
            registration: self,
            config,
            result: PollResult::Failed,
        };
        call.result = match response.and_then(Response::status) {
            Some(200) => apply(&response.map(Response::body).unwrap_or_default()),
            Some(204) => PollResult::Current,
            _ => PollResult::Failed,
        };
    }

    fn ended(&self, config: &Config<'_>, result: PollResult) {
        let mut poller = lock(&POLLER);
        if poller.calling != Some(self.id) {
            return;
        }
        poller.calling = None;
        poller.long_poll.ended(result, now());
        // The turn may be another's by now.
        match poller.pollers.last() {
            Some((id, _)) if *id == self.id => {}
            Some((_, scheduler)) => return scheduler.send(POLL),
            None => return,
        }
        let wait = poller.long_poll.not_before().since(now());
        if !wait.is_zero() {
            return poller.poll_after(wait);
        }
        drop(poller);
        self.poll(config);
    }
}

/// A call that has been answered. It is over when this is dropped.
struct Call<'a> {
    registration: &'a Registration,
    config: &'a Config<'a>,
    result: PollResult,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.registration.ended(self.config, self.result);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut poller = lock(&POLLER);
        poller.pollers.retain(|(id, _)| *id != self.id);
        if poller.calling == Some(self.id) {
            // Envoy gives up the calls of a configuration that ends.
            poller.calling = None;
            poller.long_poll.cancelled();
            if let Some((_, scheduler)) = poller.pollers.last() {
                scheduler.send(POLL);
            }
        }
    }
}

impl Poller {
    /// Whoever's turn it is then polls. A controller that is away costs a short thread a second.
    fn poll_after(&mut self, wait: Duration) {
        let clock = thread::Builder::new().name("sluice-poll".to_owned());
        let started = clock.spawn(move || {
            thread::sleep(wait);
            if let Some((_, scheduler)) = lock(&POLLER).pollers.last() {
                scheduler.send(POLL);
            }
        });
        if let (Err(_), Some((_, scheduler))) = (started, self.pollers.last()) {
            scheduler.send(POLL);
        }
    }
}

fn apply(document: &[u8]) -> PollResult {
    let tables = match PluginConfig::parse_tables(document) {
        Ok(tables) => tables,
        Err(error) => return refused(document, &error.to_string()),
    };
    match log::publish(tables) {
        Ok(()) => {
            lock(&POLLER).last_refused = None;
            waiting::resume();
            PollResult::Current
        }
        Err(error @ ApplyError::Base { .. }) => {
            let message = format!("log out of step, asking for a snapshot: {error}");
            log_once(LogLevel::Info, document, &message);
            PollResult::OutOfStep
        }
        Err(error) => refused(document, &error.to_string()),
    }
}

fn refused(document: &[u8], error: &str) -> PollResult {
    let message = format!("log refused, the last good tables stay: {error}");
    log_once(LogLevel::Error, document, &message);
    PollResult::Failed
}

/// A document that is refused comes again with the next poll, until the controller has another one.
fn log_once(level: LogLevel, document: &[u8], message: &str) {
    let mut poller = lock(&POLLER);
    if poller.last_refused.as_deref() != Some(document) {
        poller.last_refused = Some(document.to_vec());
        sluice_envoy_abi::log(level, message);
    }
}
