//! A worker process: its instance of the filter, and a new one after a trap.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

use sluice_ngxsafe::{Answer, Level, Request, Step, log, process};
use sluice_pwhost::wasmtime::Engine;
use sluice_pwhost::{Action, ContextId, Trap};

use crate::Sluice;
use crate::configuration::{Filter, Main};
use crate::exchange::{FAILED, LONGEST_PAUSE};
use crate::instance::Instance;
use crate::nginx::Nginx;

/// What a worker process has.
pub(crate) struct Worker {
    filter: Filter,
    /// `None` after a trap, when no new one would start.
    instance: Option<Instance>,
    started: Instant,
}

thread_local! {
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// The clock that interrupts a filter which does not return.
const TICK: Duration = Duration::from_millis(50);
/// How long a worker without an instance waits before it tries again.
const NEXT_START: Duration = Duration::from_secs(1);

/// Starts the filter in this process.
pub(crate) fn start(main: &Main) {
    let Some(filter) = main.filter() else { return };
    let begun = Instant::now();
    start_clock(filter.engine.clone());
    let mut worker = Worker {
        filter: filter.clone(),
        instance: None,
        started: Instant::now(),
    };
    worker.start_instance();
    WORKER.with_borrow_mut(|slot| *slot = Some(worker));
    let took = format!(
        "sluice: the filter started in {} us",
        begun.elapsed().as_micros()
    );
    log(Level::Info, took.as_bytes());
}

/// Ends the filter in this process, and with it its connections.
pub(crate) fn stop() {
    let worker =
        WORKER.try_with(|slot| slot.try_borrow_mut().ok().and_then(|mut slot| slot.take()));
    drop(worker);
}

/// Does something with the worker; `None` where there is none, or where it is at work already.
pub(crate) fn with<R>(work: impl FnOnce(&mut Worker) -> R) -> Option<R> {
    WORKER.with(|slot| slot.try_borrow_mut().ok()?.as_mut().map(work))
}

/// A root context's period has passed.
pub(crate) fn tick(root: ContextId) {
    with(|worker| worker.tick(root));
}

/// A call has ended.
pub(crate) fn answered(token: u32, result: Result<Answer, &'static str>) {
    with(|worker| worker.answered(token, result));
}

fn start_clock(engine: Engine) {
    let clock = move || loop {
        thread::sleep(TICK);
        engine.increment_epoch();
    };
    if let Err(error) = process::spawn("sluice-clock", clock) {
        let message =
            format!("sluice: a filter that does not return will not be interrupted: {error}");
        log(Level::Crit, message.as_bytes());
    }
}

/// What a worker does; each call into the guest is one of these.
impl Worker {
    pub(crate) fn on_request(&mut self, request: &Request<Sluice>, root: usize) -> Step {
        if self.instance.is_none() && self.started.elapsed() > NEXT_START {
            self.start_instance();
        }
        let Some(instance) = &mut self.instance else {
            return FAILED;
        };
        match instance.on_request(request, root) {
            Ok(Action::Continue) => Step::Continue,
            Ok(Action::Pause) => Step::Pause(LONGEST_PAUSE),
            Err(trap) => {
                self.recover(&trap);
                FAILED
            }
        }
    }

    pub(crate) fn on_response(&mut self, request: &Request<Sluice>) -> Step {
        let Some(instance) = &mut self.instance else {
            return Step::Continue;
        };
        match instance.on_response(request) {
            Ok(Action::Continue) => Step::Continue,
            Ok(Action::Pause) => {
                let message = b"sluice: the filter paused a response, which this host cannot";
                // The request is live: nginx is sending its response.
                let _ = request.with(|view| view.log(Level::Error, message));
                FAILED
            }
            Err(trap) => {
                self.recover(&trap);
                FAILED
            }
        }
    }

    pub(crate) fn on_log(&mut self, request: &Request<Sluice>) {
        self.tell(|instance| instance.on_log(request));
    }

    pub(crate) fn on_end(&mut self, request: &Request<Sluice>) {
        self.tell(|instance| instance.on_end(request));
    }

    fn tick(&mut self, root: ContextId) {
        self.tell(|instance| instance.tick(root));
    }

    fn answered(&mut self, token: u32, result: Result<Answer, &'static str>) {
        self.tell(|instance| instance.answered(token, result));
    }

    fn tell(&mut self, call: impl FnOnce(&mut Instance) -> Result<(), Trap>) {
        if let Some(Err(trap)) = self.instance.as_mut().map(call) {
            self.recover(&trap);
        }
    }

    /// A trap costs the request that it happened in; the next one has a new instance.
    fn recover(&mut self, trap: &Trap) {
        log(
            Level::Error,
            format!("sluice: the filter trapped and starts again: {trap}").as_bytes(),
        );
        self.started = Instant::now();
        let Some(instance) = self.instance.take() else {
            return;
        };
        let started = instance.restart(&self.filter);
        self.keep(started);
    }

    fn start_instance(&mut self) {
        self.started = Instant::now();
        let started = Instance::new(&self.filter, Nginx::of_a_worker());
        self.keep(started);
    }

    fn keep(&mut self, instance: Result<Instance, String>) {
        match instance {
            Ok(instance) => self.instance = Some(instance),
            Err(reason) => {
                log(
                    Level::Crit,
                    format!("sluice: the filter does not start: {reason}").as_bytes(),
                );
            }
        }
    }
}
