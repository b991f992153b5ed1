//! How soon a child that ended by itself is started again.

use std::fmt::Display;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::error;

/// How long a child must live for its death to count as the first one again.
const STABLE: Duration = Duration::from_secs(30);
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Waits that grow while a child keeps dying.
#[derive(Debug)]
pub(crate) struct Restarts {
    name: &'static str,
    wait: Duration,
    started: Instant,
}

impl Restarts {
    pub(crate) fn of(name: &'static str) -> Self {
        Restarts { name, wait: FIRST_WAIT, started: Instant::now() }
    }

    /// It is started now.
    pub(crate) fn begin(&mut self) {
        self.started = Instant::now();
    }

    /// Says that it ended, and waits until it may be started again or we are to stop.
    pub(crate) async fn ended(&mut self, how: impl Display, stop: &mut watch::Receiver<bool>) {
        if self.started.elapsed() > STABLE {
            self.wait = FIRST_WAIT;
        }
        error!("{} ended by itself ({how}); starting it again in {:?}", self.name, self.wait);
        self.pause(stop).await;
    }

    /// The same for one that could not be started at all.
    pub(crate) async fn failed(&mut self, error: &anyhow::Error, stop: &mut watch::Receiver<bool>) {
        error!("{error:#}; trying again in {:?}", self.wait);
        self.pause(stop).await;
    }

    async fn pause(&mut self, stop: &mut watch::Receiver<bool>) {
        // Whichever comes first, the caller looks at `stop` next.
        tokio::time::timeout(self.wait, stop.wait_for(|stop| *stop)).await.ok();
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }
}
