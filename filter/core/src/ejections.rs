//! Ejections that the data plane's log has not told yet: the controller learns of them from there.

use std::fmt::Write;

use crate::Timestamp;

/// The latest ejections of one worker, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Ejections(Vec<(Box<str>, Timestamp)>);

impl Ejections {
    /// One request tells of so many; those beyond are never told of.
    const MOST: usize = 32;

    pub(crate) fn push(&mut self, address: &str, until: Timestamp) {
        if self.0.len() < Ejections::MOST {
            self.0.push((address.into(), until));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that hold, with the seconds that are left: `ip:port 30,ip:port 30`. None is told twice.
    pub(crate) fn take(&mut self, now: Timestamp) -> String {
        let mut text = String::new();
        for (address, until) in self.0.drain(..).filter(|(_, until)| now < *until) {
            let separator = if text.is_empty() { "" } else { "," };
            let seconds = until.since(now).as_millis().div_ceil(1000);
            // Writing to a text cannot fail.
            let _ = write!(text, "{separator}{address} {seconds}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Timestamp {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn an_ejection_is_told_once_and_while_it_holds() {
        let mut ejections = Ejections::default();
        ejections.push("10.0.0.1:80", at(130));
        ejections.push("[::1]:80", at(100));
        ejections.push("10.0.0.2:80", at(101));
        assert!(!ejections.is_empty());
        assert_eq!(ejections.take(at(100)), "10.0.0.1:80 30,10.0.0.2:80 1");
        assert!(ejections.is_empty());
        assert_eq!(ejections.take(at(100)), "");
    }

    #[test]
    fn a_request_tells_of_so_many() {
        let mut ejections = Ejections::default();
        for _ in 0..Ejections::MOST + 5 {
            ejections.push("10.0.0.1:80", at(2));
        }
        assert_eq!(ejections.take(at(1)).split(',').count(), Ejections::MOST);
    }
}
