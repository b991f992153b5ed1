//! Requests that wait for the first tables, so that a starting Envoy breaks no session.

use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use sluice_envoy_abi::{LogLevel, Scheduler, log};

use crate::lock::lock;

/// How long requests wait, from the first one on: a controller that is down must not hold traffic up.
const MAX_WAIT: Duration = Duration::from_secs(2);

static WAITING: Mutex<Vec<Scheduler>> = Mutex::new(Vec::new());
static DEADLINE: OnceLock<Instant> = OnceLock::new();

/// Keeps a request until there are tables, or it has waited long enough; `false` when the time is over.
pub(crate) fn wait(stream: Scheduler) -> bool {
    let mut waiting = lock(&WAITING);
    let deadline = DEADLINE.get_or_init(|| {
        start_clock();
        Instant::now() + MAX_WAIT
    });
    if Instant::now() >= *deadline {
        return false;
    }
    waiting.push(stream);
    true
}

/// Lets all go on.
pub(crate) fn resume() {
    for stream in std::mem::take(&mut *lock(&WAITING)) {
        stream.send(0);
    }
}

/// Without such a thread nobody would wait longer than a moment, so a failure to start it is none of the requests'.
fn start_clock() {
    let clock = thread::Builder::new().name("sluice-wait".to_owned());
    let started = clock.spawn(|| {
        thread::sleep(MAX_WAIT);
        if !lock(&WAITING).is_empty() {
            let message =
                "no tables from the controller; Envoy's own balancing serves until they come";
            log(LogLevel::Warn, message);
            resume();
        }
    });
    if started.is_err() {
        let _ = DEADLINE.set(Instant::now());
    }
}
