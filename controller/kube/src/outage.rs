//! An API server that is away: said once for all that ask it, and again while it lasts.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An error is logged at once, then at this interval while it lasts.
const REMINDER: Duration = Duration::from_secs(60);

/// Something that lasts, and when it was last said.
#[derive(Debug, Default)]
pub(crate) struct Reminder {
    said: Option<Instant>,
    is_known: bool,
}

impl Reminder {
    /// It lasts. True if it is to be said now.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .said
            .is_none_or(|said| now.saturating_duration_since(said) >= REMINDER);
        if is_due {
            self.said = Some(now);
            self.is_known = true;
        }
        is_due
    }

    /// It is over. True if it was said; what comes and goes is not said more often for it.
    pub(crate) fn is_over(&mut self) -> bool {
        std::mem::take(&mut self.is_known)
    }
}

/// A [`Reminder`] that all watches of a cluster share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outage(Arc<Mutex<Reminder>>);

impl Outage {
    /// As [`Reminder::is_due`].
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let mut reminder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reminder.is_due(now)
    }

    /// As [`Reminder::is_over`].
    pub(crate) fn is_over(&self) -> bool {
        let mut reminder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reminder.is_over()
    }
}

/// True if nothing came back.
pub(crate) fn is_unreachable(error: &kube::Error) -> bool {
    matches!(
        error,
        kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_)
    )
}

/// An error with its causes: that a connection failed, and why.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    let mut text = text
        .strip_prefix("ServiceError: ")
        .unwrap_or(&text)
        .to_owned();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_said_once_a_minute() {
        let start = Instant::now();
        let mut reminder = Reminder::default();
        let mut due = |second| reminder.is_due(start + Duration::from_secs(second));
        let said: Vec<u64> = (0..200).filter(|second| due(*second)).collect();
        assert_eq!(said, [0, 60, 120, 180]);
    }

    #[test]
    fn what_comes_and_goes_is_not_said_more_often() {
        let start = Instant::now();
        let mut reminder = Reminder::default();
        assert!(!reminder.is_over());
        assert!(reminder.is_due(start));
        assert!(reminder.is_over() && !reminder.is_over());
        assert!(!reminder.is_due(start + Duration::from_secs(59)));
        assert!(!reminder.is_over());
        assert!(reminder.is_due(start + Duration::from_secs(60)));
        assert!(reminder.is_over());
    }

    #[test]
    fn an_outage_is_shared() {
        let (one, now) = (Outage::default(), Instant::now());
        let other = one.clone();
        assert!(one.is_due(now) && !other.is_due(now));
        assert!(other.is_over() && !one.is_over());
    }

    #[test]
    fn causes_are_told_once() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let error = kube::Error::Service(Box::new(std::io::Error::other(refused)));
        assert_eq!(with_causes(&error), "connection refused");
    }
}
