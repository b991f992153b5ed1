//! The delta log of the process: parsed once, applied by each worker when it next has a request.
//!
//! A worker that is behind takes the deltas that it lacks. One that lacks more than are kept takes a snapshot, which is kept
//! up to date for that, and loses no state by it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sluice_filter_config::{Delta, Snapshot, Tables as Update, Version};

use crate::lock::lock;

/// Deltas that are kept. At a hundred changes a second they are those of the last seconds.
const KEPT: usize = 256;

/// Number of the last update; workers compare it before they take the lock.
static LATEST: AtomicU64 = AtomicU64::new(0);
static LOG: Mutex<Log> = Mutex::new(Log {
    tables: None,
    deltas: VecDeque::new(),
});

struct Log {
    tables: Option<Snapshot>,
    /// The last ones, the newest at the end, which has the number [`LATEST`].
    deltas: VecDeque<Arc<Delta>>,
}

/// A delta that does not apply to the tables that are here.
pub(crate) struct OutOfStep {
    pub(crate) have: Option<Version>,
    pub(crate) base: Version,
}

/// The number of the last update; 0 before the first.
pub(crate) fn latest() -> u64 {
    LATEST.load(Ordering::Acquire)
}

/// The version of the tables.
pub(crate) fn version() -> Option<Version> {
    lock(&LOG).tables.as_ref().map(|tables| tables.version)
}

/// Makes an update known to all workers.
pub(crate) fn publish(update: Update) -> Result<(), OutOfStep> {
    let mut log = lock(&LOG);
    match update {
        Update::Snapshot(snapshot) => {
            log.deltas.clear();
            log.tables = Some(snapshot);
        }
        Update::Delta(delta) => log.advance(delta)?,
    }
    LATEST.fetch_add(1, Ordering::Release);
    Ok(())
}

/// Updates that a worker lacks that has those up to a number, and the number that it has then.
pub(crate) fn since(number: u64) -> (Vec<Update>, u64) {
    let log = lock(&LOG);
    let latest = LATEST.load(Ordering::Acquire);
    let lacking = usize::try_from(latest.saturating_sub(number)).unwrap_or(usize::MAX);
    let updates = if number > 0 && lacking <= log.deltas.len() {
        let new = log.deltas.iter().skip(log.deltas.len() - lacking);
        new.map(|delta| Update::Delta((**delta).clone())).collect()
    } else {
        log.tables
            .clone()
            .map(Update::Snapshot)
            .into_iter()
            .collect()
    };
    (updates, latest)
}

impl Log {
    fn advance(&mut self, delta: Delta) -> Result<(), OutOfStep> {
        let have = self.tables.as_ref().map(|tables| tables.version);
        let Some(tables) = self.tables.as_mut().filter(|it| it.version == delta.base) else {
            return Err(OutOfStep {
                have,
                base: delta.base,
            });
        };
        let delta = Arc::new(delta);
        if self.deltas.len() == KEPT {
            self.deltas.pop_front();
        }
        self.deltas.push_back(Arc::clone(&delta));
        apply(tables, &delta);
        Ok(())
    }
}

fn apply(tables: &mut Snapshot, delta: &Delta) {
    let Delta {
        base: _,
        version,
        routes,
        backends,
        removed_routes,
        removed_backends,
        hosts,
        removed_hosts,
    } = delta;
    tables.version = *version;
    for (id, route) in routes {
        tables.routes.insert(id.clone(), route.clone());
    }
    for (id, backend) in backends {
        tables.backends.insert(id.clone(), backend.clone());
    }
    tables.hosts.extend(hosts.iter().cloned());
    for id in removed_routes {
        tables.routes.remove(id);
    }
    for id in removed_backends {
        tables.backends.remove(id);
    }
    for host in removed_hosts {
        tables.hosts.remove(host);
    }
}
