//! One request.

use std::cell::RefCell;
use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;
use sluice_filter_core::Ticket;

#[cfg(feature = "fault-injection")]
use crate::host;
use crate::worker::{Fate, Worker};

/// Lives as long as the host's request.
pub(crate) struct Request {
    id: u32,
    worker: Rc<RefCell<Worker>>,
    waits: bool,
    ticket: Option<Ticket>,
}

impl Request {
    pub(crate) fn new(id: u32, worker: Rc<RefCell<Worker>>) -> Self {
        Request { id, worker, waits: false, ticket: None }
    }

    /// A request that waited was decided while the worker heard of its first tables.
    fn collect_ticket(&mut self) {
        if self.waits {
            self.waits = false;
            self.ticket = self.worker.borrow_mut().decided(self.id);
        }
    }
}

impl Context for Request {}

impl HttpContext for Request {
    fn on_http_request_headers(&mut self, _headers: usize, _end_of_stream: bool) -> Action {
        #[cfg(feature = "fault-injection")]
        fail_if_asked();
        match self.worker.borrow_mut().handle(self.id) {
            Fate::GoesOn(ticket) => {
                self.ticket = ticket;
                Action::Continue
            }
            Fate::Answered => Action::Pause,
            Fate::Waits => {
                self.waits = true;
                Action::Pause
            }
        }
    }

    fn on_http_response_headers(&mut self, _headers: usize, _end_of_stream: bool) -> Action {
        self.collect_ticket();
        if let Some(ticket) = self.ticket.as_ref().filter(|ticket| ticket.awaits_response()) {
            self.worker.borrow_mut().begin_session(ticket);
        }
        Action::Continue
    }

    /// Called for every request, also when its client went away.
    fn on_log(&mut self) {
        self.collect_ticket();
        if let Some(ticket) = self.ticket.take() {
            self.worker.borrow_mut().learn(ticket);
        }
    }
}

#[cfg(feature = "fault-injection")]
#[allow(clippy::panic, reason = "this is the fault")]
fn fail_if_asked() {
    if host::asks_for("x-test-panic") {
        panic!("asked for by the test");
    }
    if host::asks_for("x-test-loop") {
        loop {
            std::hint::spin_loop();
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut worker = self.worker.borrow_mut();
        if self.waits {
            worker.forget(self.id);
        }
        // A host that did not log it: it is over all the same.
        if let Some(ticket) = self.ticket.take() {
            worker.abandon(ticket);
        }
    }
}
