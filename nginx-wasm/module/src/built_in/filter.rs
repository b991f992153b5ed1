//! A filter of one configuration: its tables, its poll, and the requests that wait for the first tables.

use std::rc::Rc;
use std::time::{Duration, Instant};

use sluice_filter_config::{Control, Host, PluginConfig, Tables as Update};
use sluice_filter_core::{ApplyError, LongPoll, PollResult, SplitMix64, Timestamp};
use sluice_filter_worker::{
    LogLevel, MAX_WAIT, POLL_TIMEOUT, Pending, Refusals, RequestAction, Worker, apply_document,
    panic_if_asked,
};
use sluice_ngx::{Call, CallRequest, CallResponse, Step, Timer};

use super::stream::{NginxStream, log};
use super::uncounted::Uncounted;
use crate::request::{Kept, PAUSE_LIMIT, Request};
use crate::{clock, random};

/// Delay of the first poll: nginx starts no connections before its event loop runs.
const FIRST_POLL: Duration = Duration::from_millis(1);

pub(super) struct Filter {
    index: usize,
    handlers: EventHandlers,
    configuration: Rc<[u8]>,
    control: Option<Control>,
    worker: Worker<Uncounted>,
    long_poll: LongPoll,
    refusals: Refusals,
    call: Option<Call>,
    poll_timer: Timer,
    /// Requests that wait for the first tables.
    waiting: Vec<Request>,
    /// When the first request had to wait: of this filter, or of those before it that panicked without tables.
    waits_since: Option<Instant>,
    wait_timer: Timer,
}

/// Callbacks of nginx's event loop for the timers and calls of the filter at an index.
#[derive(Clone, Copy)]
pub(super) struct EventHandlers {
    pub(super) on_poll_due: fn(usize),
    pub(super) on_poll_end: fn(usize, Result<CallResponse, &'static str>),
    pub(super) on_wait_end: fn(usize),
}

/// Reads a configuration, and says why it cannot be used.
///
/// # Errors
///
/// It is none, is for another host, or holds tables that cannot be applied.
pub(crate) fn check(configuration: &[u8]) -> Result<(), String> {
    configured(configuration, 0).map(|_| ())
}

fn configured(
    configuration: &[u8],
    seed: u64,
) -> Result<(Option<Control>, Worker<Uncounted>), String> {
    let config = PluginConfig::parse(configuration).map_err(|error| error.to_string())?;
    if config.host != Some(Host::Nginx) {
        return Err(
            "plugin configuration: host: expected `nginx` for the filter of this module".to_owned(),
        );
    }
    if config.control.is_none() && config.tables.is_none() {
        return Err(
            "plugin configuration: expected `tables`, `control` or both, got neither".to_owned(),
        );
    }
    let mut worker = Worker::new(Uncounted, SplitMix64(seed));
    // A worker without tables has none to ask for again.
    let _ = worker.set_zone(config.zone);
    if let Some(tables) = config.tables {
        let applied = worker.apply(tables, clock::now());
        drop(applied.map_err(|error| format!("plugin configuration: {error}"))?);
    }
    Ok((config.control, worker))
}

impl Filter {
    /// Starts the filter of the configuration at this index.
    ///
    /// # Errors
    ///
    /// As of [`check`].
    pub(super) fn start(
        index: usize,
        configuration: &Rc<[u8]>,
        handlers: EventHandlers,
    ) -> Result<Self, String> {
        // Of this process: workers that were forked with the same one would choose alike.
        let seed = random::seed().ok_or("the system has no random numbers")?;
        let (control, worker) = configured(configuration, seed)?;
        let filter = Filter {
            index,
            handlers,
            configuration: Rc::clone(configuration),
            control,
            worker,
            long_poll: LongPoll::default(),
            refusals: Refusals::default(),
            call: None,
            poll_timer: Timer::new(move || (handlers.on_poll_due)(index)),
            waiting: Vec::new(),
            waits_since: None,
            wait_timer: Timer::new(move || (handlers.on_wait_end)(index)),
        };
        filter.poll_timer.start(FIRST_POLL);
        Ok(filter)
    }

    /// Begins anew, without tables. Requests that wait start again, and wait no longer than they would have.
    ///
    /// # Errors
    ///
    /// As of [`check`]; the filter stays as it was.
    pub(super) fn restart(&mut self, delay: Duration) -> Result<(), String> {
        let started = Filter::start(self.index, &self.configuration, self.handlers)?;
        let former = std::mem::replace(self, started);
        self.poll_timer.start(delay.max(FIRST_POLL));
        // One that had tables will have them again.
        let had_tables = former.worker.tables().version().is_some();
        self.waits_since = former.waits_since.filter(|_| !had_tables);
        for request in former.waiting {
            // Fails for one that has ended.
            let _ = request.restart();
        }
        Ok(())
    }

    pub(super) fn on_request(&mut self, request: &Request) -> Step {
        let stream = NginxStream::new(request);
        panic_if_asked(&stream);
        let mut pending = Pending::default();
        match self.worker.on_request_headers(&stream, &mut pending) {
            // A response of the filter's own is recorded in the request.
            RequestAction::Continue | RequestAction::Respond => {}
            RequestAction::Wait if self.may_wait(request) => return Step::Pause(PAUSE_LIMIT),
            RequestAction::Wait => {
                self.worker.on_resume(&stream, &mut pending);
            }
        }
        self.keep(request, pending);
        Step::Continue
    }

    fn keep(&self, request: &Request, pending: Pending) {
        if !pending.is_empty() {
            request.data().replace(Kept::Pending(self.index, pending));
        }
    }

    pub(super) fn on_response(&mut self, request: &Request, pending: &Pending) {
        self.worker
            .on_response_headers(&NginxStream::new(request), pending);
    }

    /// The request is over, and nginx still knows how it went.
    pub(super) fn on_log(&mut self, request: &Request, pending: Pending) {
        self.worker.complete(&NginxStream::new(request), pending);
    }

    /// The request is over, and that is all that is known.
    pub(super) fn on_end(&mut self, pending: Pending) {
        self.worker.cancel(pending, clock::now());
    }

    /// Lets a request wait for tables; `false` if none can come, or requests have waited long enough.
    fn may_wait(&mut self, request: &Request) -> bool {
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        let left = MAX_WAIT.saturating_sub(since.elapsed());
        if self.control.is_none() || left.is_zero() {
            return false;
        }
        if self.waiting.is_empty() {
            self.wait_timer.start(left);
        }
        self.waiting.push(request.clone());
        true
    }

    /// Lets requests go that have waited long enough for tables that do not come.
    pub(super) fn on_wait_end(&mut self) {
        if !self.waiting.is_empty() {
            let message = "no tables from the controller; without them no pod can be chosen";
            log(LogLevel::Warn, message);
            self.resume_waiting();
        }
    }

    /// One after the other: those behind a panic stay, and start again.
    fn resume_waiting(&mut self) {
        self.wait_timer.stop();
        while let Some(request) = self.waiting.pop() {
            let mut pending = Pending::default();
            self.worker
                .on_resume(&NginxStream::new(&request), &mut pending);
            self.keep(&request, pending);
            // Fails for one that has ended.
            let _ = request.resume();
        }
    }

    /// Sends the next poll.
    pub(super) fn poll(&mut self) {
        let Some(Control {
            upstream,
            authority,
        }) = &self.control
        else {
            return;
        };
        let path = self.long_poll.path(self.worker.tables().version());
        let request = CallRequest {
            method: b"GET",
            target: path.as_bytes(),
            authority: authority.as_bytes(),
            headers: &[],
            body: b"",
        };
        let (index, on_poll_end) = (self.index, self.handlers.on_poll_end);
        let on_end = move |result| on_poll_end(index, result);
        self.long_poll.sent(clock::now());
        match Call::start(upstream.as_bytes(), request, POLL_TIMEOUT, on_end) {
            Ok(call) => self.call = Some(call),
            Err(_) => self.finish_poll(PollResult::Failed),
        }
    }

    /// Takes the response to a poll.
    pub(super) fn on_poll_end(&mut self, result: Result<CallResponse, &'static str>) {
        let result = match result {
            Ok(response) if response.status == 200 => self.take(&response.body),
            Ok(response) if response.status == 204 => PollResult::Unchanged,
            Ok(_) => PollResult::Failed,
            Err(reason) => {
                log(LogLevel::Info, &format!("call failed: {reason}"));
                PollResult::Failed
            }
        };
        self.finish_poll(result);
    }

    /// The next poll follows, at once or when it is due.
    fn finish_poll(&mut self, result: PollResult) {
        let now = clock::now();
        self.long_poll.ended(result, now);
        // The event loop sends it: a controller that cannot be reached is no reason to call this from in here again.
        let wait = self.long_poll.not_before().since(now);
        if wait.is_zero() && result != PollResult::Failed {
            self.poll();
        } else {
            self.poll_timer.start(wait.max(FIRST_POLL));
        }
    }

    fn take(&mut self, document: &[u8]) -> PollResult {
        let applied = apply_document(document, |update| self.apply(update, clock::now()));
        self.refusals.poll_result(document, applied, log)
    }

    fn apply(&mut self, update: Update, now: Timestamp) -> Result<(), ApplyError> {
        self.worker
            .apply(update, now)?
            .for_each(|change| log(LogLevel::Info, &change));
        self.resume_waiting();
        Ok(())
    }
}
