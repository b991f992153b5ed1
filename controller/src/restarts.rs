//! How soon a child that ended by itself is started again.

use std::fmt::Display;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::error;

/// How long a child must live for its death to count as the first one again.
const STABLE: Duration = Duration::from_secs(30);
/// After the second death; after the first one nobody waits.
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
        Restarts {
            name,
            wait: Duration::ZERO,
            started: Instant::now(),
        }
    }

    /// It is started now.
    pub(crate) fn begin(&mut self) {
        self.started = Instant::now();
    }

    /// Says that it ended, and waits until it may be started again or we are to stop.
    pub(crate) async fn ended(&mut self, how: impl Display, stop: &mut watch::Receiver<bool>) {
        if self.started.elapsed() > STABLE {
            self.wait = Duration::ZERO;
        }
        error!(
            "{} ended by itself ({how}); starting it again in {:?}",
            self.name, self.wait
        );
        self.pause(stop).await;
    }

    /// The same for one that could not be started at all.
    pub(crate) async fn failed(&mut self, error: &anyhow::Error, stop: &mut watch::Receiver<bool>) {
        error!("{error:#}; trying again in {:?}", self.wait);
        self.pause(stop).await;
    }

    async fn pause(&mut self, stop: &mut watch::Receiver<bool>) {
        // Whichever comes first, the caller looks at `stop` next.
        tokio::time::timeout(self.wait, stop.wait_for(|stop| *stop))
            .await
            .ok();
        self.wait = (self.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long each of so many deaths is waited for.
    async fn waits(restarts: &mut Restarts, deaths: usize) -> Vec<u128> {
        let (_stop, mut stopped) = watch::channel(false);
        let mut waits = Vec::new();
        for _ in 0..deaths {
            let before = tokio::time::Instant::now();
            restarts.begin();
            restarts.ended("it died", &mut stopped).await;
            waits.push(before.elapsed().as_millis());
        }
        waits
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_death_is_not_waited_for_and_further_ones_longer_and_longer() {
        let mut restarts = Restarts::of("it");
        assert_eq!(
            waits(&mut restarts, 9).await,
            [0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_once_told_to_stop() {
        let mut restarts = Restarts::of("it");
        waits(&mut restarts, 8).await;
        let (stop, mut stopped) = watch::channel(false);
        stop.send(true).unwrap();
        let before = tokio::time::Instant::now();
        restarts.ended("it died", &mut stopped).await;
        assert_eq!(before.elapsed().as_millis(), 0);
    }
}
