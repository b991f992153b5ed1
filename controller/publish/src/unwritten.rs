//! Files of nginx that could not be written are written again: soon, and then less and less often.

use std::time::Duration;

use tokio::time::Instant;

/// Pause before the first new try.
const FIRST: Duration = Duration::from_secs(1);
/// Longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// The files of the last publication, while some of them are not written.
#[derive(Debug, Default)]
pub(crate) struct Unwritten(Option<NextTry>);

#[derive(Clone, Copy, Debug)]
struct NextTry {
    at: Instant,
    pause: Duration,
}

impl Unwritten {
    /// Notes how writing them has ended.
    pub(crate) fn note(&mut self, is_written: bool) {
        let last = self.0.take();
        if !is_written {
            let pause = last.map_or(FIRST, |last| LONGEST.min(2 * last.pause));
            let at = Instant::now() + pause;
            self.0 = Some(NextTry { at, pause });
        }
    }

    /// Time of the next try.
    pub(crate) fn next_try(&self) -> Option<Instant> {
        self.0.map(|next| next.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_end_with_success() {
        let mut files = Unwritten::default();
        assert_eq!(files.next_try(), None);
        let now = Instant::now();
        let mut pauses = Vec::new();
        for _ in 0..7 {
            files.note(false);
            pauses.extend(files.next_try().map(|at| (at - now).as_secs()));
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
        files.note(true);
        assert_eq!(files.next_try(), None);
        files.note(false);
        assert_eq!(files.next_try(), Some(now + FIRST));
    }
}
