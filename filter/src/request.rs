//! One request.

use std::cell::RefCell;
use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext};
use proxy_wasm::types::Action;

#[cfg(feature = "fault-injection")]
use crate::host;
use crate::worker::{Fate, Worker};

/// Lives as long as the host's request.
pub(crate) struct Request {
    id: u32,
    worker: Rc<RefCell<Worker>>,
}

impl Request {
    pub(crate) fn new(id: u32, worker: Rc<RefCell<Worker>>) -> Self {
        Request { id, worker }
    }
}

impl Context for Request {}

impl HttpContext for Request {
    fn on_http_request_headers(&mut self, _headers: usize, _end_of_stream: bool) -> Action {
        #[cfg(feature = "fault-injection")]
        fail_if_asked();
        match self.worker.borrow_mut().handle(self.id) {
            Fate::GoesOn => Action::Continue,
            Fate::Answered | Fate::Waits => Action::Pause,
        }
    }
}

#[cfg(feature = "fault-injection")]
#[allow(clippy::panic, reason = "this is the fault")]
fn fail_if_asked() {
    if host::asks_for("x-sluice-test-panic") {
        panic!("asked for by the test");
    }
    if host::asks_for("x-sluice-test-loop") {
        loop {
            std::hint::spin_loop();
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.worker.borrow_mut().forget(self.id);
    }
}
