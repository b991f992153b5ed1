//! Turns of requests: so many per second, evenly spread.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Turns of one data plane.
#[derive(Debug)]
pub(crate) struct Pace {
    interval: Duration,
    next: Mutex<Option<Instant>>,
}

impl Pace {
    /// So many per second.
    pub(crate) fn new(rate: f64) -> Pace {
        Pace {
            interval: Duration::from_secs_f64(1.0 / rate),
            next: Mutex::new(None),
        }
    }

    /// Waits for the next turn.
    pub(crate) async fn turn(&self) {
        let mut next = self.next.lock().await;
        let now = Instant::now();
        let at = next.map_or(now, |next| next.max(now));
        *next = Some(at + self.interval);
        drop(next);
        sleep_until(at).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_an_interval_apart_and_none_is_saved_up() {
        let pace = Pace::new(10.0);
        let start = Instant::now();
        for _ in 0..5 {
            pace.turn().await;
        }
        assert_eq!(start.elapsed().as_millis(), 400);
        tokio::time::sleep(Duration::from_secs(9)).await;
        let later = Instant::now();
        for _ in 0..3 {
            pace.turn().await;
        }
        assert_eq!(later.elapsed().as_millis(), 200);
    }
}
