//! The log: what to ask the controller next, and when.
//!
//! A long-poll: the controller answers as soon as it has something newer than the version asked with, and the next
//! call goes out with the answer of the last. A timer only restarts it after a failure, and after an answer without news that came
//! at once: the controller holds a call back, so whoever answers so would be asked without end.

use std::time::Duration;

use sluice_filter_config::{LOG_PATH, Version};

use crate::Timestamp;

/// Result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollResult {
    /// Applied.
    Current,
    /// Nothing new.
    Unchanged,
    /// A delta for other tables than ours: only a snapshot helps.
    OutOfStep,
    /// No answer, an error, or a document that was refused: ask again, later.
    Failed,
}

/// The state of one worker's long-poll.
#[derive(Debug, Default)]
pub struct LongPoll {
    in_flight: bool,
    whole: bool,
    failures: u32,
    sent_at: Timestamp,
    not_before: Timestamp,
}

impl LongPoll {
    const FIRST_WAIT: Duration = Duration::from_millis(50);
    const LONGEST_WAIT: Duration = Duration::from_secs(1);

    /// When the next call is due, unless one is in flight.
    #[must_use]
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// True if a call is due.
    #[must_use]
    pub fn is_due(&self, now: Timestamp) -> bool {
        !self.in_flight && now >= self.not_before
    }

    /// The path to ask: what changed since `have`, or everything.
    #[must_use]
    pub fn path(&self, have: Option<Version>) -> String {
        match have.filter(|_| !self.whole) {
            Some(version) => format!("{LOG_PATH}?since={version}"),
            None => LOG_PATH.to_owned(),
        }
    }

    /// Everything is needed again, whatever version we have.
    pub fn restart(&mut self) {
        self.whole = true;
    }

    /// A call went out.
    pub fn sent(&mut self, now: Timestamp) {
        self.in_flight = true;
        self.sent_at = now;
    }

    /// A call could not go out, or was answered.
    pub fn ended(&mut self, result: PollResult, now: Timestamp) {
        self.in_flight = false;
        let is_at_once = now.since(self.sent_at) < Self::LONGEST_WAIT;
        match result {
            PollResult::Unchanged if is_at_once => self.wait(now),
            PollResult::Current | PollResult::Unchanged => {
                self.failures = 0;
                self.whole = false;
            }
            PollResult::OutOfStep if !self.whole => self.whole = true,
            // A snapshot cannot be out of step: whatever answered so is broken, and is not to be hammered.
            PollResult::OutOfStep | PollResult::Failed => self.wait(now),
        }
    }

    fn wait(&mut self, now: Timestamp) {
        let wait = Self::FIRST_WAIT.saturating_mul(1 << self.failures.min(10));
        self.not_before = now.after(wait.min(Self::LONGEST_WAIT));
        self.failures += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn one_call_is_in_flight_at_a_time() {
        let mut poll = LongPoll::default();
        assert!(poll.is_due(at(0)));
        poll.sent(at(0));
        assert!(!poll.is_due(at(60_000)));
        poll.ended(PollResult::Current, at(1));
        assert!(poll.is_due(at(1)));
    }

    #[test]
    fn failures_wait_longer_each_time_up_to_a_second() {
        let mut poll = LongPoll::default();
        let mut waits = Vec::new();
        for _ in 0..7 {
            poll.sent(at(0));
            poll.ended(PollResult::Failed, at(0));
            waits.push((0..2_000).find(|&ms| poll.is_due(at(ms))).unwrap());
        }
        assert_eq!(waits, [50, 100, 200, 400, 800, 1000, 1000]);
        poll.sent(at(5_000));
        poll.ended(PollResult::Current, at(5_000));
        assert!(poll.is_due(at(5_000)));
    }

    #[test]
    fn who_has_nothing_new_at_once_is_asked_once_a_second_and_who_held_the_call_is_asked_again() {
        let mut poll = LongPoll::default();
        let (mut now, mut calls) = (0, 0);
        while now < 10_000 {
            poll.sent(at(now));
            poll.ended(PollResult::Unchanged, at(now));
            calls += 1;
            now = (now..).find(|&ms| poll.is_due(at(ms))).unwrap();
        }
        assert!(calls < 16, "{calls} in ten seconds");
        poll.sent(at(now));
        poll.ended(PollResult::Unchanged, at(now + 25_000));
        assert!(poll.is_due(at(now + 25_000)));
        poll.sent(at(now + 25_000));
        poll.ended(PollResult::Current, at(now + 25_000));
        assert!(poll.is_due(at(now + 25_000)), "news at once");
    }

    #[test]
    fn a_delta_that_does_not_fit_asks_for_everything_once() {
        let mut poll = LongPoll::default();
        let have = Some(Version::new(1, 1));
        assert!(poll.path(have).contains("?since=1-"));
        poll.ended(PollResult::OutOfStep, at(0));
        assert_eq!(poll.path(have), LOG_PATH);
        assert!(poll.is_due(at(0)), "at once, the first time");
        poll.ended(PollResult::OutOfStep, at(0));
        assert!(
            !poll.is_due(at(0)),
            "a snapshot that does not fit is an error"
        );
    }
}
