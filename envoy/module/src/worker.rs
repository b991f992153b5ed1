//! The filter's worker in a thread of Envoy's.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};

use sluice_filter_core::SplitMix64;
use sluice_filter_worker::{LogLevel, Worker};

use crate::clock::now;
use crate::counters::ProcessCounters;
use crate::{envoy_log, feed, log};

struct ThreadWorker {
    worker: Worker<ProcessCounters>,
    /// Number of the last update that it has taken.
    taken: u64,
}

thread_local! {
    static WORKER: RefCell<Option<ThreadWorker>> = const { RefCell::new(None) };
}

/// Something to do for the worker of this thread, which has what is new in the log then.
pub(crate) fn with<R>(work: impl FnOnce(&mut Worker<ProcessCounters>) -> R) -> R {
    WORKER.with_borrow_mut(|worker| {
        let worker = worker.get_or_insert_with(ThreadWorker::new);
        if worker.taken != log::latest() {
            worker.catch_up();
        }
        work(&mut worker.worker)
    })
}

/// A panic may have left the worker of this thread in any state: the next request gets a new one.
pub(crate) fn restart() {
    WORKER.with(|worker| {
        if let Ok(mut worker) = worker.try_borrow_mut() {
            *worker = None;
        }
    });
}

impl ThreadWorker {
    fn new() -> Self {
        let rng = SplitMix64(RandomState::new().hash_one(0));
        ThreadWorker {
            worker: Worker::new(ProcessCounters, rng),
            taken: 0,
        }
    }

    #[cold]
    fn catch_up(&mut self) {
        if self.worker.set_zone(feed::zone()) {
            // Backends that are compiled know it with the next snapshot.
            self.taken = 0;
        }
        let Some((news, latest)) = log::since(self.taken) else {
            return;
        };
        self.taken = latest;
        for update in news.updates() {
            match self.worker.apply(update, now()) {
                Ok(changes) => {
                    changes.for_each(|change| envoy_log::write(LogLevel::Info, &change));
                }
                // The log has only what can be applied, so this worker is out of step: a snapshot helps.
                Err(error) => {
                    let message = format!("the filter's tables are asked for again: {error}");
                    envoy_log::write(LogLevel::Error, &message);
                    self.taken = 0;
                }
            }
        }
    }
}
