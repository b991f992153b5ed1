//! Root contexts: configuration in, polls out. Hosts make a new one for every configuration, and the [`Worker`] stays.

use std::time::Duration;

use crate::host;
use crate::worker::Worker;

/// Restarts a poll that failed; a healthy poll does not need it.
const TICK: Duration = Duration::from_millis(50);

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
        worker.check_patience();
        worker.beat();
        host::switch_to(root);
        worker.poll();
    });
}

/// A poll has ended.
pub(crate) fn called_back(root: u32, headers: usize, body_size: usize) {
    // A call that failed has no headers at all.
    let status = if headers == 0 { None } else { host::answer_status() };
    let body = if status == Some(200) { host::answer_body(body_size) } else { Vec::new() };
    Worker::with(|worker| {
        worker.answered(status, &body);
        // Resuming requests made their contexts the current one; the next call is this root's again.
        host::switch_to(root);
        worker.poll();
    });
}
