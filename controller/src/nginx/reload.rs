//! Whether nginx has taken a new configuration: it does not say, but then there are workers that there were not before.

use std::collections::BTreeSet;
use std::time::Duration;

use procfs::process::Process;
use rustix::process::Pid;
use tokio::time::{Instant, sleep};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// nginx reads tens of thousands of hosts in less.
const PATIENCE: Duration = Duration::from_secs(30);

/// The processes that a master has forked.
pub(super) fn workers(master: Option<Pid>) -> BTreeSet<u32> {
    let main = |pid: Pid| {
        Process::new(pid.as_raw_nonzero().get())?
            .task_main_thread()?
            .children()
    };
    let children = master.and_then(|pid| main(pid).ok());
    children.into_iter().flatten().collect()
}

/// Waits for a worker that is none of these; `false` when none comes.
pub(super) async fn is_taken(master: Option<Pid>, before: &BTreeSet<u32>) -> bool {
    let given_up = Instant::now() + PATIENCE;
    while Instant::now() < given_up {
        if workers(master).difference(before).next().is_some() {
            return true;
        }
        sleep(LOOK).await;
    }
    false
}
