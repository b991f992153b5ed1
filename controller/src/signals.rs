//! Signals that stop the process.

use std::time::Duration;

use anyhow::Context;
use sluice_tasks::Tasks;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::info;

pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }

    /// Waits for so long, or until the next signal: whoever asks twice means now.
    pub(crate) async fn pause(&mut self, time: Duration, what: &str) {
        if time.is_zero() {
            return;
        }
        info!("{what} for {} s; a second signal ends that", time.as_secs());
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.wait() => {}
        }
    }
}

/// Starts; `None` when asked to stop before that is done. Tasks may end from then on: what is half started takes the channels of
/// its tasks with it.
pub(crate) async fn unless_stopped<T>(
    start: impl Future<Output = anyhow::Result<T>>,
    stop: impl Future<Output = ()>,
    tasks: &Tasks,
) -> anyhow::Result<Option<T>> {
    // Before the other branches are dropped.
    let stopped = async {
        stop.await;
        tasks.stop();
    };
    tokio::select! {
        started = start => started.map(Some),
        () = stopped => Ok(None),
        failure = tasks.failed() => Err(failure.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use anyhow::bail;
    use tokio::sync::oneshot;

    use super::*;

    /// Starts a task that lives as long as this is not dropped.
    async fn half_started(tasks: &Tasks, ended: oneshot::Sender<()>) -> anyhow::Result<()> {
        let (_lives, heard) = oneshot::channel::<()>();
        tasks.spawn("half", async {
            heard.await.ok();
            ended.send(()).ok();
        });
        pending().await
    }

    #[tokio::test]
    async fn tasks_of_a_start_that_is_given_up_may_end() {
        let tasks = Tasks::default();
        let (sender, ended) = oneshot::channel();
        let stop = tokio::task::yield_now();
        let started = unless_stopped(half_started(&tasks, sender), stop, &tasks).await;
        assert!(matches!(started, Ok(None)));
        ended.await.unwrap();
        tokio::task::yield_now().await;
        assert_eq!(tasks.failure(), None);
    }

    #[tokio::test]
    async fn a_start_that_fails_and_a_task_that_fails_are_errors() {
        let tasks = Tasks::default();
        let failing = async { bail!("why") };
        let started = unless_stopped::<()>(failing, pending(), &tasks).await;
        assert_eq!(started.unwrap_err().to_string(), "why");
        tasks.spawn("a", async {});
        let started = unless_stopped(pending::<anyhow::Result<()>>(), pending(), &tasks).await;
        assert!(
            started
                .unwrap_err()
                .to_string()
                .contains("\"a\" ended unexpectedly")
        );
        let started = unless_stopped(ready(Ok(1)), pending(), &Tasks::default()).await;
        assert_eq!(started.unwrap(), Some(1));
    }
}
