//! Workers of an nginx. It reports neither that it serves nor a reload, but forks workers for either.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use procfs::process::Process;
use rustix::process::Pid;
use tokio::net::TcpStream;
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

/// Succeeds if the nginx with this process id (0: none runs) serves http at this address.
///
/// # Errors
///
/// Says what is missing. That it listens is not enough: an nginx that waits for the next of its ports listens on those before.
pub async fn serving(pid: u32, http: SocketAddr) -> anyhow::Result<()> {
    let master = Pid::from_raw(pid.cast_signed()).context("it does not run")?;
    ensure!(!workers(master).is_empty(), "it has no worker");
    TcpStream::connect(http).await?;
    Ok(())
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
