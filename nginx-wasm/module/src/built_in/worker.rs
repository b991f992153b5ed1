//! A worker process: its filters, one for each configuration, and the entries into them.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use sluice_filter_worker::Pending;
use sluice_ngx::{CallResponse, Level, Step, log};

use super::filter::{EventHandlers, Filter};
use crate::hosts;
use crate::request::{FAILED, Request};

thread_local! {
    static FILTERS: RefCell<Vec<Filter>> = const { RefCell::new(Vec::new()) };
}

/// Delay of the first poll after a panic in a poll: the same document would come at once.
const DELAY_AFTER_POLL: Duration = Duration::from_secs(1);

const EVENT_HANDLERS: EventHandlers = EventHandlers {
    on_poll_due,
    on_poll_end,
    on_wait_end,
};

/// Starts the filters in this process.
pub(crate) fn start(configurations: &[Rc<[u8]>]) {
    let started: Result<Vec<Filter>, String> = configurations
        .iter()
        .enumerate()
        .map(|(index, configuration)| Filter::start(index, configuration, EVENT_HANDLERS))
        .collect();
    match started {
        Ok(filters) => FILTERS.set(filters),
        // The configuration has been checked, so something else is wrong: requests fail.
        Err(reason) => log(
            Level::Crit,
            format!("sluice: the filter does not start: {reason}").as_bytes(),
        ),
    }
}

/// Stops the filters in this process and closes their connections.
pub(crate) fn stop() {
    let filters =
        FILTERS.try_with(|filters| filters.try_borrow_mut().map(|mut it| it.split_off(0)));
    drop(filters);
}

pub(crate) fn on_request(request: &Request, index: usize) -> Step {
    with(index, Duration::ZERO, |filter| filter.on_request(request)).unwrap_or(FAILED)
}

pub(crate) fn on_response(request: &Request, index: usize, pending: &Pending) -> Step {
    let work = |filter: &mut Filter| filter.on_response(request, pending);
    match with(index, Duration::ZERO, work) {
        Some(()) => Step::Continue,
        None => FAILED,
    }
}

pub(crate) fn on_log(request: &Request, index: usize, pending: Pending) {
    with(index, Duration::ZERO, |filter| {
        filter.on_log(request, pending);
    });
}

pub(crate) fn on_end(index: usize, pending: Pending) {
    with(index, Duration::ZERO, |filter| filter.on_end(pending));
}

fn on_poll_due(index: usize) {
    with(index, DELAY_AFTER_POLL, Filter::poll);
}

fn on_poll_end(index: usize, result: Result<CallResponse, &'static str>) {
    hosts::note_announced(&result);
    with(index, DELAY_AFTER_POLL, |filter| filter.on_poll_end(result));
    hosts::refresh();
}

fn on_wait_end(index: usize) {
    with(index, Duration::ZERO, Filter::on_wait_end);
}

/// Runs `work` with a filter; `None` if there is none, or after a panic, which may have left it in any state: then it begins anew, and polls
/// after this delay.
fn with<R>(index: usize, delay: Duration, work: impl FnOnce(&mut Filter) -> R) -> Option<R> {
    let run = || {
        FILTERS.with(|filters| {
            let mut filters = filters.try_borrow_mut().ok()?;
            Some(work(filters.get_mut(index)?))
        })
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        restart(index, delay);
        None
    })
}

#[cold]
fn restart(index: usize, delay: Duration) {
    log(Level::Error, b"sluice: the filter panicked and begins anew");
    FILTERS.with(|filters| {
        if let Ok(mut filters) = filters.try_borrow_mut()
            && let Some(filter) = filters.get_mut(index)
            && let Err(reason) = filter.restart(delay)
        {
            let message = format!("sluice: the filter does not start: {reason}");
            log(Level::Crit, message.as_bytes());
        }
    });
}
