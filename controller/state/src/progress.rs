//! Progress of the publisher, for the health check: when it last published, and since when it has been busy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Longest time that one publication may take. Tens of thousands of hosts take seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Mutex<Times>>);

#[derive(Debug, Default)]
struct Times {
    published: Option<Published>,
    busy_since: Option<Instant>,
}

/// A publication, from the change that it is made for until data planes had been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// The publisher had the change.
    pub begun: Instant,
    /// Data planes had been told of it.
    pub done: Instant,
}

/// Work in progress, until it is dropped.
#[derive(Debug)]
pub struct Busy(Progress);

impl Progress {
    /// True once something has been published.
    pub fn is_published(&self) -> bool {
        self.times().published.is_some()
    }

    /// Time since the last publication.
    pub fn age(&self) -> Option<Duration> {
        self.last().map(|last| last.done.elapsed())
    }

    /// The last publication.
    pub fn last(&self) -> Option<Published> {
        self.times().published
    }

    /// How long the publisher has been busy with one piece of work, if that is too long.
    pub fn stuck(&self) -> Option<Duration> {
        self.times()
            .busy_since
            .map(|since| since.elapsed())
            .filter(|time| *time > LIMIT)
    }

    /// Work has come up.
    pub fn begin(&self) -> Busy {
        self.times().busy_since = Some(Instant::now());
        Busy(self.clone())
    }

    /// The data planes have been told of a configuration.
    pub fn note_published(&self) {
        let (mut times, done) = (self.times(), Instant::now());
        times.published = Some(Published {
            begun: times.busy_since.unwrap_or(done),
            done,
        });
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        // Two values, each set in one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.times().busy_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_has_nothing_to_do_is_never_stuck_and_who_is_busy_is_after_a_while() {
        let progress = Progress::default();
        tokio::time::advance(LIMIT * 9).await;
        assert_eq!((progress.stuck(), progress.age()), (None, None));
        let busy = progress.begin();
        tokio::time::advance(LIMIT).await;
        assert_eq!(progress.stuck(), None);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(progress.stuck(), Some(LIMIT + Duration::from_secs(1)));
        progress.note_published();
        let last = progress.last().unwrap();
        assert_eq!(last.done - last.begun, LIMIT + Duration::from_secs(1));
        drop(busy);
        tokio::time::advance(LIMIT * 9).await;
        assert_eq!((progress.stuck(), progress.age()), (None, Some(LIMIT * 9)));
    }
}
