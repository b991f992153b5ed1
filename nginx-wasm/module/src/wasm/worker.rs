//! A worker process: its instance of the filter, which is replaced after a trap.

use std::cell::RefCell;
use std::thread;
use std::time::{Duration, Instant};

use sluice_ngx::{CallResponse, Level, Step, log, process};
use sluice_wasm_host::wasmtime::Engine;
use sluice_wasm_host::{Action, Context, ContextId, Trap};

use super::env::{EventHandlers, NginxEnv};
use super::filter::Filter;
use super::instance::Instance;
use crate::hosts;
use crate::request::{FAILED, PAUSE_LIMIT, Request};

/// The filter of a worker process.
struct Worker {
    filter: Filter,
    /// `None` if the last start failed.
    instance: Option<Instance>,
    started: Instant,
}

thread_local! {
    static WORKER: RefCell<Option<Worker>> = const { RefCell::new(None) };
}

/// Tick of the epoch clock, which interrupts a filter that does not return.
const EPOCH_TICK: Duration = Duration::from_millis(50);
/// Delay of a worker without an instance before it starts another one.
const RESTART_DELAY: Duration = Duration::from_secs(1);
const EVENT_HANDLERS: EventHandlers = EventHandlers {
    on_tick,
    on_call_end,
};

/// Starts the filter in this process.
pub(crate) fn start(filter: &Filter) {
    let begun = Instant::now();
    start_epoch_clock(filter.engine.clone());
    let mut worker = Worker {
        filter: filter.clone(),
        instance: None,
        started: Instant::now(),
    };
    worker.start_instance();
    WORKER.with_borrow_mut(|slot| *slot = Some(worker));
    let message = format!(
        "sluice: the filter started in {} us",
        begun.elapsed().as_micros()
    );
    log(Level::Info, message.as_bytes());
}

/// Stops the filter in this process and closes its connections.
pub(crate) fn stop() {
    let worker =
        WORKER.try_with(|slot| slot.try_borrow_mut().ok().and_then(|mut slot| slot.take()));
    drop(worker);
}

pub(crate) fn on_request(request: &Request, root_index: usize) -> Step {
    with(|worker| worker.on_request(request, root_index)).unwrap_or(FAILED)
}

pub(crate) fn on_response(request: &Request, context: &Context) -> Step {
    with(|worker| worker.on_response(request, context)).unwrap_or(FAILED)
}

pub(crate) fn on_log(context: &Context) {
    with(|worker| worker.call(|instance| instance.on_log(context)));
}

pub(crate) fn on_end(context: Context) {
    with(|worker| worker.call(|instance| instance.on_end(context)));
}

/// Runs `work` with the worker; `None` if there is none, or if it is running already.
fn with<R>(work: impl FnOnce(&mut Worker) -> R) -> Option<R> {
    WORKER.with(|slot| slot.try_borrow_mut().ok()?.as_mut().map(work))
}

fn on_tick(root: ContextId) {
    with(|worker| worker.call(|instance| instance.on_tick(root)));
}

fn on_call_end(token: u32, result: Result<CallResponse, &'static str>) {
    hosts::note_announced(&result);
    with(|worker| worker.call(|instance| instance.on_call_end(token, result)));
    hosts::refresh();
}

fn start_epoch_clock(engine: Engine) {
    let clock = move || loop {
        thread::sleep(EPOCH_TICK);
        engine.increment_epoch();
    };
    if let Err(error) = process::spawn("sluice-clock", clock) {
        let message = format!(
            "sluice: no thread for the epoch clock, a filter that does not return will not be interrupted: {error}"
        );
        log(Level::Crit, message.as_bytes());
    }
}

/// The calls into the guest.
impl Worker {
    fn on_request(&mut self, request: &Request, root_index: usize) -> Step {
        if self.instance.is_none() && self.started.elapsed() > RESTART_DELAY {
            self.start_instance();
        }
        let Some(instance) = &mut self.instance else {
            return FAILED;
        };
        match instance.on_request(request, root_index) {
            Ok(Action::Continue) => Step::Continue,
            Ok(Action::Pause) => Step::Pause(PAUSE_LIMIT),
            Err(trap) => {
                self.recover(&trap);
                FAILED
            }
        }
    }

    fn on_response(&mut self, request: &Request, context: &Context) -> Step {
        let Some(instance) = &mut self.instance else {
            return Step::Continue;
        };
        match instance.on_response(request, context) {
            Ok(Action::Continue) => Step::Continue,
            Ok(Action::Pause) => {
                let message =
                    b"sluice: the filter paused a response, which this host does not support";
                // The request is live: nginx is sending its response.
                let _ = request.with(|live| live.log(Level::Error, message));
                FAILED
            }
            Err(trap) => {
                self.recover(&trap);
                FAILED
            }
        }
    }

    fn call(&mut self, call: impl FnOnce(&mut Instance) -> Result<(), Trap>) {
        if let Some(Err(trap)) = self.instance.as_mut().map(call) {
            self.recover(&trap);
        }
    }

    /// Replaces the instance after a trap, which costs the request that it happened in.
    fn recover(&mut self, trap: &Trap) {
        log(
            Level::Error,
            format!("sluice: the filter trapped and is restarted: {trap}").as_bytes(),
        );
        self.started = Instant::now();
        let Some(instance) = self.instance.take() else {
            return;
        };
        let restarted = instance.restart(&self.filter);
        self.set_instance(restarted);
    }

    fn start_instance(&mut self) {
        self.started = Instant::now();
        let started = Instance::new(&self.filter, NginxEnv::new(EVENT_HANDLERS));
        self.set_instance(started);
    }

    fn set_instance(&mut self, instance: Result<Instance, String>) {
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
