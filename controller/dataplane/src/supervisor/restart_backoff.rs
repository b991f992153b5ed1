//! Delays before a process that exited by itself is started again.

use std::fmt::Display;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::error;

/// A process that lived longer than this is restarted without a delay.
const STABLE_AFTER: Duration = Duration::from_secs(30);
/// Delay after the second exit; there is none after the first.
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// Delays that double while a process keeps exiting.
#[derive(Debug)]
pub(super) struct RestartBackoff {
    name: &'static str,
    delay: Duration,
    started: Instant,
}

impl RestartBackoff {
    pub(super) fn new(name: &'static str) -> Self {
        RestartBackoff {
            name,
            delay: Duration::ZERO,
            started: Instant::now(),
        }
    }

    /// The process is being started.
    pub(super) fn started(&mut self) {
        self.started = Instant::now();
    }

    /// Logs the exit, then waits for the delay or until the supervisor stops.
    pub(super) async fn exited(
        &mut self,
        status: impl Display,
        last_line: Option<String>,
        stop: &mut watch::Receiver<bool>,
    ) {
        if self.started.elapsed() > STABLE_AFTER {
            self.delay = Duration::ZERO;
        }
        error!(
            "{} exited unexpectedly ({status}){}; restarting it {}",
            self.name,
            with_last(last_line),
            self.when()
        );
        self.wait(stop).await;
    }

    /// Logs that the process could not be started, then waits like [`Self::exited`].
    pub(super) async fn failed(
        &mut self,
        error: &anyhow::Error,
        last_line: Option<String>,
        stop: &mut watch::Receiver<bool>,
    ) {
        error!(
            "{error:#}{}; retrying {}",
            with_last(last_line),
            self.when()
        );
        self.wait(stop).await;
    }

    fn when(&self) -> String {
        match self.delay {
            Duration::ZERO => "at once".to_owned(),
            delay => format!("in {delay:?}"),
        }
    }

    async fn wait(&mut self, stop: &mut watch::Receiver<bool>) {
        // The caller checks `stop` next, so a timeout and a stop need no distinction here.
        tokio::time::timeout(self.delay, stop.wait_for(|stop| *stop))
            .await
            .ok();
        self.delay = (self.delay * 2).clamp(FIRST_DELAY, MAX_DELAY);
    }
}

fn with_last(line: Option<String>) -> String {
    line.map_or_else(String::new, |line| format!(", its last line was {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds waited after each of `exits` exits.
    async fn delays(backoff: &mut RestartBackoff, exits: usize) -> Vec<u128> {
        let (_stop, mut stopped) = watch::channel(false);
        let mut delays = Vec::new();
        for _ in 0..exits {
            let before = tokio::time::Instant::now();
            backoff.started();
            backoff.exited("exit status: 1", None, &mut stopped).await;
            delays.push(before.elapsed().as_millis());
        }
        delays
    }

    #[tokio::test(start_paused = true)]
    async fn first_restart_is_immediate_and_later_delays_double() {
        let mut backoff = RestartBackoff::new("it");
        assert_eq!(
            delays(&mut backoff, 9).await,
            [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn stop_ends_the_delay() {
        let mut backoff = RestartBackoff::new("it");
        delays(&mut backoff, 8).await;
        let (stop, mut stopped) = watch::channel(false);
        stop.send(true).unwrap();
        let before = tokio::time::Instant::now();
        backoff.exited("exit status: 1", None, &mut stopped).await;
        assert_eq!(before.elapsed().as_millis(), 0);
    }
}
