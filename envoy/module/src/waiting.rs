//! Requests that wait for the first tables, so that a starting Envoy breaks no session.

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use sluice_envoy_abi::Scheduler;
use sluice_filter_worker::{LogLevel, MAX_WAIT};

use crate::lock::lock;
use crate::{envoy_log, log};

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    deadline: None,
    streams: Vec::new(),
});

struct Waiting {
    deadline: Option<Instant>,
    streams: Vec<Scheduler>,
}

/// Keeps a request until there are tables, or requests have waited long enough; `false` if it need not wait, or no longer.
pub(crate) fn wait(stream: impl FnOnce() -> Scheduler) -> bool {
    let mut waiting = lock(&WAITING);
    // They may have come since the request asked. Whoever publishes them resumes those that wait, after this lock is free.
    if log::latest() > 0 {
        return false;
    }
    let now = Instant::now();
    let deadline = match waiting.deadline {
        Some(deadline) => deadline,
        None if start_clock(now + MAX_WAIT) => *waiting.deadline.insert(now + MAX_WAIT),
        None => *waiting.deadline.insert(now),
    };
    if now >= deadline {
        return false;
    }
    waiting.streams.push(stream());
    true
}

/// Lets all go on.
pub(crate) fn resume() {
    for stream in std::mem::take(&mut lock(&WAITING).streams) {
        stream.send(0);
    }
}

/// Resumes at the deadline those that still wait; `false` if there is no thread for it.
fn start_clock(deadline: Instant) -> bool {
    let clock = thread::Builder::new().name("sluice-wait".to_owned());
    let started = clock.spawn(move || {
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        if !lock(&WAITING).streams.is_empty() {
            let message =
                "no tables from the controller; Envoy's own balancing serves until they come";
            envoy_log::write(LogLevel::Warn, message);
            resume();
        }
    });
    started.is_ok()
}
