//! The root context: configuration in, polls out.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types::ContextType;

use crate::host;
use crate::request::Request;
use crate::worker::Worker;

/// Restarts a poll that failed; a healthy poll does not need it.
const TICK: Duration = Duration::from_millis(50);

/// Thin on purpose: hosts make a new one for every configuration, and the [`Worker`] stays.
pub(crate) struct Root {
    id: u32,
    worker: Rc<RefCell<Worker>>,
}

impl Root {
    pub(crate) fn new(id: u32) -> Self {
        Root { id, worker: Worker::shared() }
    }
}

impl Context for Root {
    fn on_http_call_response(&mut self, _token: u32, headers: usize, body_size: usize, _trailers: usize) {
        // A call that failed has no headers at all.
        let status = if headers == 0 { None } else { host::answer_status() };
        let body = if status == Some(200) { host::answer_body(body_size) } else { Vec::new() };
        let mut worker = self.worker.borrow_mut();
        worker.answered(status, &body);
        // Resuming requests made their contexts the current one; the next call is this root's again.
        host::switch_to(self.id);
        worker.poll();
    }
}

impl RootContext for Root {
    fn on_configure(&mut self, size: usize) -> bool {
        host::tick_every(TICK);
        let mut worker = self.worker.borrow_mut();
        let accepted = worker.configure(&host::plugin_configuration(size));
        if accepted && worker.polls_at_once() {
            worker.poll();
        }
        accepted
    }

    fn on_tick(&mut self) {
        let mut worker = self.worker.borrow_mut();
        worker.check_patience();
        host::switch_to(self.id);
        worker.poll();
    }

    fn create_http_context(&self, id: u32) -> Option<Box<dyn HttpContext>> {
        Some(Box::new(Request::new(id, Rc::clone(&self.worker))))
    }

    fn get_type(&self) -> Option<ContextType> {
        Some(ContextType::HttpContext)
    }
}
