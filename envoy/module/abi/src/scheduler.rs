//! Events that other threads send to a stream or a configuration.

use crate::callbacks::{self, EnvoyPtr};

/// Sends events to a stream, in its worker, or to a configuration, in the main thread. One that is gone gets none.
#[derive(Debug)]
pub struct Scheduler {
    scheduler: EnvoyPtr,
    of: Target,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Stream,
    Config,
}

// SAFETY: Envoy's schedulers hold a weak reference to their target and post to its event loop, which lives as long as Envoy serves; posting is
// made for other threads, also for several at once (`abi.h` says so of both kinds).
unsafe impl Send for Scheduler {}
// SAFETY: as above.
unsafe impl Sync for Scheduler {}

impl Scheduler {
    pub(crate) fn new(scheduler: EnvoyPtr, of: Target) -> Self {
        Scheduler { scheduler, of }
    }

    /// Sends an event.
    pub fn send(&self, event: u64) {
        // SAFETY: it was made for this target, and is deleted with this.
        unsafe {
            match self.of {
                Target::Stream => callbacks::commit(self.scheduler, event),
                Target::Config => callbacks::commit_config(self.scheduler, event),
            }
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // SAFETY: it was made for this target, and nobody uses it any more.
        unsafe {
            match self.of {
                Target::Stream => callbacks::delete_scheduler(self.scheduler),
                Target::Config => callbacks::delete_config_scheduler(self.scheduler),
            }
        }
    }
}
