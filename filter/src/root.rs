//! Root contexts: configuration in, polls out. Hosts make a new one for every configuration, and the [`Worker`] stays.

use crate::host;
use crate::worker::{TICK, Worker};

/// The host has started this VM. ngx_wasm_module does not say so of one that takes the place of another that trapped.
pub(crate) fn on_vm_start() {
    Worker::with(Worker::on_vm_start);
}

/// A bootstrap configuration has come; `false` refuses it.
pub(crate) fn on_configure(size: usize) -> bool {
    host::tick_every(TICK);
    Worker::with(|worker| {
        let accepted = worker.configure(&host::plugin_configuration(size));
        if accepted && worker.polls_on_configure() {
            worker.poll();
        }
        accepted
    })
}

/// Some time has passed.
pub(crate) fn on_tick(root: u32) {
    Worker::with(|worker| {
        if !worker.accepts_ticks() {
            return;
        }
        worker.resume_expired();
        worker.heartbeat();
        host::switch_to(root);
        worker.poll();
    });
}

/// A poll has ended, or what a waiting request asked for itself.
pub(crate) fn on_http_call_response(root: u32, token: u32, headers: usize, body_size: usize) {
    // A call that failed has no headers at all.
    let status = if headers == 0 {
        None
    } else {
        host::call_response_status()
    };
    let body = if status == Some(200) {
        host::call_response_body(body_size)
    } else {
        Vec::new()
    };
    Worker::with(|worker| {
        if let Some(context) = worker.waiting_for(token) {
            return worker.on_own_call_response(context, status, &body);
        }
        worker.on_poll_response(status, &body);
        if !worker.polls_in_callbacks() {
            return;
        }
        // Resuming requests made their contexts the current one; the next call is this root's again.
        host::switch_to(root);
        worker.poll();
    });
}
