//! The supervisor of a data plane: adopts or starts a process, restarts it when it exits, and drains it at the end.
//!
//! ```text
//!   adopt --found--> running --change--> apply_change --+
//!     | none          ^   |  ^---------------------------+
//!     v               |   +--exit--> exited --backoff--+
//!   start ------------+ <-----------------------------+
//!                         +--stop--> drain
//! ```

mod restart_backoff;

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use rustix::process::Signal;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::warn;

use crate::child_log::ChildLog;
use crate::process::Process;
use restart_backoff::RestartBackoff;

/// Interval between checks of a condition that a data plane does not announce.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time for a found process to answer. Its controller may have been killed right after starting it.
pub(crate) const ADOPTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Time to exit after SIGTERM, before SIGKILL.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// The process id of a data plane, shared with readers; 0 while there is none.
#[derive(Clone, Debug, Default)]
pub struct SharedPid(Arc<AtomicU32>);

impl From<Arc<AtomicU32>> for SharedPid {
    fn from(pid: Arc<AtomicU32>) -> Self {
        SharedPid(pid)
    }
}

impl SharedPid {
    /// The id, 0 while there is no process.
    #[must_use]
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, process: Option<&Process>) {
        let pid = process.map_or(0, |process| {
            process.pid().as_raw_nonzero().get().cast_unsigned()
        });
        self.0.store(pid, Ordering::Relaxed);
    }
}

/// A data plane program, as the supervisor drives it. Futures are dropped when the process exits or the supervisor stops.
pub(crate) trait Program: Send {
    /// Name in log lines.
    const NAME: &'static str;

    /// The process id, for readers.
    fn pid(&self) -> &SharedPid;

    /// The standard error of the process.
    fn log(&self) -> &ChildLog;

    /// The process of an earlier controller, if it can be taken over.
    fn adopt(&mut self) -> impl Future<Output = Option<Process>> + Send;

    /// Waits until there is something to start with; `false`: the supervisor stops first. An error: what there is was refused so many
    /// times.
    fn can_start(
        &mut self,
        _stop: &mut watch::Receiver<bool>,
        _max_failed_starts: Option<NonZeroU32>,
    ) -> impl Future<Output = anyhow::Result<bool>> + Send {
        async { Ok(true) }
    }

    /// Starts a process.
    fn start(&self) -> anyhow::Result<Process>;

    /// Completes when the process serves for the first time.
    fn ready(&self) -> impl Future<Output = ()> + Send + 'static;

    /// Waits for a change to apply to the running process.
    fn next_change(&mut self, is_ready: bool) -> impl Future<Output = ()> + Send;

    /// Applies the change. Notices by itself when the process exits meanwhile.
    fn apply_change(&mut self, process: &mut Process) -> impl Future<Output = ()> + Send;

    /// Ends the process, after its open requests.
    fn drain(&mut self, process: Process) -> impl Future<Output = ()> + Send;

    /// Cleans up after a process that exited by itself.
    fn exited(&mut self, _process: &Process) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Cleans up when the supervisor stops.
    fn finish(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Keeps a process running until `stop` becomes true, then drains it. Calls `on_ready` each time that a process becomes ready.
///
/// # Errors
///
/// So many in a row have ended without that.
pub(crate) async fn supervise<P: Program>(
    mut program: P,
    mut stop: watch::Receiver<bool>,
    max_failed_starts: Option<NonZeroU32>,
    on_ready: impl Fn() + Send + Sync,
) -> anyhow::Result<()> {
    let mut backoff = RestartBackoff::new(P::NAME);
    let failed = AtomicU32::new(0);
    let on_ready = || {
        failed.store(0, Ordering::Relaxed);
        on_ready();
    };
    let mut adopted = program.adopt().await;
    if adopted.is_none() && !program.can_start(&mut stop, max_failed_starts).await? {
        return Ok(());
    }
    while !*stop.borrow() {
        let failures = failed.fetch_add(1, Ordering::Relaxed);
        if max_failed_starts.is_some_and(|most| failures >= most.get()) {
            program.finish().await;
            return Err(gave_up::<P>(failures));
        }
        backoff.started();
        match adopted.take().map_or_else(|| program.start(), Ok) {
            Ok(process) => {
                let run = run(&mut program, process, &mut stop, &on_ready);
                let Some(status) = run.await else { break };
                let last = program.log().take_last();
                backoff.exited(status, last, &mut stop).await;
            }
            Err(error) => {
                program.log().forward();
                let last = program.log().take_last();
                backoff.failed(&error, last, &mut stop).await;
            }
        }
    }
    program.finish().await;
    Ok(())
}

/// The error of a data plane that has failed so often.
pub(crate) fn gave_up<P: Program>(failures: u32) -> anyhow::Error {
    anyhow!(
        "{} did not start in {failures} attempts; giving up",
        P::NAME
    )
}

/// The exit status of a process that exited by itself; `None` when it was drained because the supervisor stops.
async fn run<P: Program>(
    program: &mut P,
    mut process: Process,
    stop: &mut watch::Receiver<bool>,
    on_ready: impl Fn() + Send + Sync,
) -> Option<String> {
    program.pid().set(Some(&process));
    let mut ready = pin!(program.ready());
    let mut is_ready = false;
    let exit = loop {
        tokio::select! {
            status = process.ended() => break Some(status),
            () = stopped(stop) => break None,
            () = &mut ready, if !is_ready => {
                is_ready = true;
                on_ready();
                if let Err(error) = process.refresh_program() {
                    warn!("the next controller will not recognize this {}: {error:#}", P::NAME);
                }
                continue;
            }
            () = program.next_change(is_ready) => {}
        }
        tokio::select! {
            () = program.apply_change(&mut process) => {}
            () = stopped(stop) => break None,
        }
    };
    program.pid().set(None);
    match exit {
        None => program.drain(process).await,
        Some(_) => program.exited(&process).await,
    }
    program.log().forward();
    exit
}

/// Completes when the supervisor has to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error: the sender is gone.
    stop.wait_for(|stop| *stop).await.ok();
}

/// Sends SIGTERM, then SIGKILL after [`KILL_TIMEOUT`]. SIGTERM works from the start, also while there is no admin interface yet.
pub(crate) async fn terminate(name: &str, process: &mut Process) {
    signal(name, process, Signal::TERM);
    if timeout(KILL_TIMEOUT, process.ended()).await.is_err() {
        warn!("{name} did not exit within {KILL_TIMEOUT:?}; killing it");
        signal(name, process, Signal::KILL);
        process.ended().await;
    }
}

pub(crate) fn signal(name: &str, process: &Process, signal: Signal) {
    if let Err(error) = process.signal(signal) {
        warn!("cannot signal {name}: {error}");
    }
}
