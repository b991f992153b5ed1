//! Detects reloads. nginx does not report them, but forks new workers.

use std::collections::BTreeSet;
use std::time::Duration;

use procfs::process::Process;
use rustix::process::Pid;
use tokio::time::{Instant, sleep};

use crate::supervisor::POLL_INTERVAL;

/// nginx loads tens of thousands of hosts in less.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The processes that a master has forked.
pub(super) fn workers(master: Pid) -> BTreeSet<u32> {
    let children = || {
        Process::new(master.as_raw_nonzero().get())?
            .task_main_thread()?
            .children()
    };
    children().into_iter().flatten().collect()
}

/// Waits for a worker that was not there before; `false` if there is none after [`RELOAD_TIMEOUT`].
pub(super) async fn wait_for_new(master: Pid, before: &BTreeSet<u32>) -> bool {
    let deadline = Instant::now() + RELOAD_TIMEOUT;
    while Instant::now() < deadline {
        if workers(master).difference(before).next().is_some() {
            return true;
        }
        sleep(POLL_INTERVAL).await;
    }
    false
}
