//! The life of a request: it arrives, it is answered, it is over. To the host it is a number.

use proxy_wasm::types::Action;

use crate::fate::Fate;
use crate::worker::Worker;

/// It has come, with its headers.
pub(crate) fn arrived(context: u32) -> Action {
    #[cfg(feature = "fault-injection")]
    fail_if_asked();
    match Worker::with(|worker| worker.handle(context)) {
        Fate::GoesOn => Action::Continue,
        Fate::Answered | Fate::Waits => Action::Pause,
    }
}

/// An endpoint has answered it.
pub(crate) fn answered(context: u32) {
    Worker::with(|worker| {
        // The pod's own cookies: that of a session of ours is not there yet.
        worker.rewrite(context);
        worker.begin_session(context);
    });
}

/// It was served, or its client went away. Envoy and nginx say so of every request.
pub(crate) fn over(context: u32) {
    Worker::with(|worker| worker.learn(context));
}

/// The host knows no more of it.
pub(crate) fn gone(context: u32) {
    Worker::with(|worker| worker.abandon(context));
}

#[cfg(feature = "fault-injection")]
#[allow(clippy::panic, reason = "this is the fault")]
fn fail_if_asked() {
    use crate::host;

    if host::asks_for("x-test-panic") {
        panic!("asked for by the test");
    }
    if host::asks_for("x-test-loop") {
        loop {
            std::hint::spin_loop();
        }
    }
}
