//! Route discovery: all hosts in one table (RDS), or each by itself (SRDS).
//!
//! Envoy builds a table anew with every change of it: close to 20 us of its main thread for each host. A scope is built
//! alone. But each request pays for finding its scope, and one for a host without an exact name pays twice.

use std::time::{Duration, Instant};

/// The way that Envoy learns of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// RDS: one table with all hosts.
    Table,
    /// SRDS: a scope for each exact host, and one for the others.
    Scopes,
}

/// Longer than Envoy drains a listener that another one took the place of: 600 s. Its connections go on in the former way.
const DRAINED: Duration = Duration::from_secs(900);

/// The way that was chosen, and whether the other one is still in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    chosen: Option<Discovery>,
    both_until: Option<Instant>,
}

impl Choice {
    /// Scopes from so many hosts on, and back to the table below the half of it.
    pub(super) fn choose(&mut self, hosts: usize, from: usize, now: Instant) -> Discovery {
        let (many, few) = (hosts >= from, hosts < from / 2);
        let chosen = match self.chosen {
            _ if many => Discovery::Scopes,
            Some(Discovery::Scopes) if !few => Discovery::Scopes,
            _ => Discovery::Table,
        };
        // A controller that has just started does not know which one Envoys were told before.
        let is_unsure = self.chosen.is_none() && !many && !few;
        if is_unsure || self.chosen.is_some_and(|before| before != chosen) {
            self.both_until = Some(now + DRAINED);
        }
        self.both_until = self.both_until.filter(|until| now < *until);
        self.chosen = Some(chosen);
        chosen
    }

    /// True if some connection may be served in this way.
    pub(super) fn is_in_use(&self, discovery: Discovery) -> bool {
        self.chosen == Some(discovery) || self.both_until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_going_back_and_forth_at_the_border() {
        let (mut choice, now) = (Choice::default(), Instant::now());
        let hosts = [10, 99, 100, 99, 50, 49, 50, 99, 100];
        let chosen = hosts.map(|hosts| choice.choose(hosts, 100, now) == Discovery::Scopes);
        assert_eq!(
            chosen,
            [false, false, true, true, true, false, false, false, true]
        );
    }

    #[test]
    fn the_former_way_stays_as_long_as_connections_that_use_it() {
        let (mut choice, now) = (Choice::default(), Instant::now());
        choice.choose(1, 100, now);
        assert!(!choice.is_in_use(Discovery::Scopes));
        choice.choose(100, 100, now);
        assert!(choice.is_in_use(Discovery::Table) && choice.is_in_use(Discovery::Scopes));
        choice.choose(100, 100, now + DRAINED);
        assert!(!choice.is_in_use(Discovery::Table));
    }

    #[test]
    fn who_does_not_know_what_was_before_serves_both_ways() {
        let (mut choice, now) = (Choice::default(), Instant::now());
        assert_eq!(choice.choose(70, 100, now), Discovery::Table);
        assert!(choice.is_in_use(Discovery::Scopes));
    }

    #[test]
    fn from_the_first_host_on_or_never() {
        let now = Instant::now();
        assert_eq!(Choice::default().choose(0, 0, now), Discovery::Scopes);
        assert_eq!(
            Choice::default().choose(1_000_000, usize::MAX, now),
            Discovery::Table
        );
    }
}
