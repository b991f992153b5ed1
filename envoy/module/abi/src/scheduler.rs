//! Events that other threads send to a stream.

use crate::callbacks::{self, EnvoyPtr};

/// Sends events to a stream, in its worker. One that is gone gets none.
#[derive(Debug)]
pub struct Scheduler(EnvoyPtr);

// SAFETY: Envoy's schedulers hold a weak reference to their stream and post to the event loop of its worker, which lives as long as Envoy
// serves; posting is made for other threads, also for several at once (`abi.h`).
unsafe impl Send for Scheduler {}
// SAFETY: as above.
unsafe impl Sync for Scheduler {}

impl Scheduler {
    pub(crate) fn new(scheduler: EnvoyPtr) -> Self {
        Scheduler(scheduler)
    }

    /// Sends an event.
    pub fn send(&self, event: u64) {
        // SAFETY: Envoy has made it, and it is deleted with this.
        unsafe { callbacks::commit(self.0, event) };
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // SAFETY: Envoy has made it, and nobody uses it any more.
        unsafe { callbacks::delete_scheduler(self.0) };
    }
}
