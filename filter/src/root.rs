//! Root contexts: configuration in, polls out. Hosts make a new one for every configuration, and the [`Worker`] stays.

use crate::host;
use crate::worker::{TICK, Worker};

/// The host has started this VM. ngx_wasm_module does not say so of one that takes the place of another that trapped.
pub(crate) fn started() {
    Worker::with(Worker::started);
}

/// A checkpoint has come; `false` refuses it.
pub(crate) fn configure(size: usize) -> bool {
    host::tick_every(TICK);
    Worker::with(|worker| {
        let accepted = worker.configure(&host::plugin_configuration(size));
        if accepted && worker.polls_at_once() {
            worker.poll();
        }
        accepted
    })
}

/// Some time has passed.
pub(crate) fn tick(root: u32) {
    Worker::with(|worker| {
        if !worker.trusts_ticks() {
            return;
        }
        worker.check_patience();
        worker.beat();
        host::switch_to(root);
        worker.poll();
    });
}

/// A poll has ended, or what a waiting request asked for itself.
pub(crate) fn called_back(root: u32, token: u32, headers: usize, body_size: usize) {
    // A call that failed has no headers at all.
    let status = if headers == 0 {
        None
    } else {
        host::answer_status()
    };
    let body = if status == Some(200) {
        host::answer_body(body_size)
    } else {
        Vec::new()
    };
    Worker::with(|worker| {
        if let Some(context) = worker.asked(token) {
            return worker.answered_itself(context, status, &body);
        }
        worker.answered(status, &body);
        if !worker.polls_in_answers() {
            return;
        }
        // Resuming requests made their contexts the current one; the next call is this root's again.
        host::switch_to(root);
        worker.poll();
    });
}
