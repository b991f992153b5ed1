//! State of one name from lookup to lookup. Time is an argument.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use sluice_translate::Resolution;

use super::dns::{DnsAnswer, FLOOR, Failure};

/// How long the last good answer serves when no server answers: RFC 8767 (serving stale data) suggests one to three
/// days.
pub(super) const STALE: Duration = Duration::from_hours(24);
/// The longest pause between two attempts at a name that fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A name between two looks.
#[derive(Debug, Default)]
pub(super) struct Followed {
    last: Option<(BTreeSet<IpAddr>, Instant)>,
    failures: u32,
    /// Why looks have failed since it last had an answer.
    failure: Option<Failure>,
    published: Option<Resolution>,
}

/// Names wait in one queue with those that have as much to lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupState {
    /// It has not been looked at.
    New,
    /// The last look had an answer.
    Known,
    /// It had none.
    Failing,
}

/// Result of a lookup.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// Resolution to publish, if it has changed.
    pub(super) publish: Option<Resolution>,
    /// How long until the next look.
    pub(super) pause: Duration,
}

impl Followed {
    /// Priority of the next lookup.
    pub(super) fn state(&self) -> LookupState {
        match (self.failures, &self.last) {
            (0, None) => LookupState::New,
            (0, Some(_)) => LookupState::Known,
            _ => LookupState::Failing,
        }
    }

    /// Takes what a look at the name has found. That it has no address is an answer, and holds at once; no answer at all
    /// leaves what was known for a while.
    pub(super) fn take(&mut self, found: Result<DnsAnswer, Failure>, now: Instant) -> Next {
        let failed = match found {
            Ok(DnsAnswer { addresses, ttl }) => {
                *self = Followed {
                    last: Some((addresses.clone(), now)),
                    published: self.published.take(),
                    ..Followed::default()
                };
                return Next {
                    publish: self.news(Resolution {
                        addresses,
                        failure: None,
                    }),
                    pause: ttl,
                };
            }
            Err(failed) => failed,
        };
        let stays = |at: Instant| failed != Failure::NoAddress && now.duration_since(at) < STALE;
        self.last = self.last.take().filter(|(_, at)| stays(*at));
        // A reason that is another with every look would be no news.
        let same = self
            .failure
            .take()
            .filter(|before| (*before == Failure::NoAddress) == (failed == Failure::NoAddress));
        let failure = self.failure.insert(same.unwrap_or(failed)).to_string();
        let pause = FLOOR
            .saturating_mul(1 << self.failures.min(5))
            .min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        let addresses = self
            .last
            .as_ref()
            .map(|(addresses, _)| addresses.clone())
            .unwrap_or_default();
        Next {
            publish: self.news(Resolution {
                addresses,
                failure: Some(failure),
            }),
            pause,
        }
    }

    fn news(&mut self, resolution: Resolution) -> Option<Resolution> {
        let is_new = self.published.as_ref() != Some(&resolution);
        is_new.then(|| {
            self.published = Some(resolution.clone());
            resolution
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(30);

    fn addresses(text: &str) -> BTreeSet<IpAddr> {
        text.split_whitespace()
            .map(|address| address.parse().unwrap())
            .collect()
    }

    fn answer(text: &str) -> Result<DnsAnswer, Failure> {
        Ok(DnsAnswer {
            addresses: addresses(text),
            ttl: TTL,
        })
    }

    fn silence(reason: &str) -> Result<DnsAnswer, Failure> {
        Err(Failure::NoAnswer(reason.to_owned()))
    }

    fn resolution(text: &str, failure: Option<&str>) -> Option<Resolution> {
        Some(Resolution {
            addresses: addresses(text),
            failure: failure.map(str::to_owned),
        })
    }

    #[test]
    fn an_answer_is_told_once_and_holds_for_its_ttl() {
        let (mut name, now) = (Followed::default(), Instant::now());
        let first = Next {
            publish: resolution("192.0.2.1", None),
            pause: TTL,
        };
        assert_eq!(name.take(answer("192.0.2.1"), now), first);
        assert_eq!(
            name.take(answer("192.0.2.1"), now),
            Next {
                publish: None,
                pause: TTL
            }
        );
        let moved = Next {
            publish: resolution("192.0.2.1 192.0.2.2", None),
            pause: TTL,
        };
        assert_eq!(name.take(answer("192.0.2.2 192.0.2.1"), now), moved);
    }

    #[test]
    fn the_last_good_answer_serves_for_a_day_of_silence_and_no_longer() {
        let (mut name, begun) = (Followed::default(), Instant::now());
        name.take(answer("192.0.2.1"), begun);
        assert_eq!(
            name.take(silence("timeout"), begun).publish,
            resolution("192.0.2.1", Some("timeout"))
        );
        // Said once, whatever is wrong next time.
        for (seconds, reason) in [(60, "timeout"), (86_399, "refused")] {
            assert_eq!(
                name.take(silence(reason), begun + Duration::from_secs(seconds))
                    .publish,
                None,
                "{seconds}"
            );
        }
        assert_eq!(
            name.take(silence("timeout"), begun + STALE).publish,
            resolution("", Some("timeout"))
        );
        assert_eq!(
            name.take(answer("192.0.2.1"), begun + STALE).publish,
            resolution("192.0.2.1", None)
        );
    }

    #[test]
    fn a_name_that_has_no_address_any_more_is_gone_at_once() {
        let (mut name, now) = (Followed::default(), Instant::now());
        name.take(answer("192.0.2.1"), now);
        assert_eq!(
            name.take(Err(Failure::NoAddress), now).publish,
            resolution("", Some("it has no address"))
        );
        assert_eq!(name.take(Err(Failure::NoAddress), now).publish, None);
        // What was known before that is not dug up.
        assert_eq!(
            name.take(silence("timeout"), now).publish,
            resolution("", Some("timeout"))
        );
    }

    #[test]
    fn failures_are_looked_at_ever_more_rarely_and_wait_behind_what_answers() {
        let (mut name, now) = (Followed::default(), Instant::now());
        assert_eq!(name.state(), LookupState::New);
        let pauses: Vec<u64> = (0..8)
            .map(|_| name.take(silence("timeout"), now).pause.as_secs())
            .collect();
        assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(name.state(), LookupState::Failing);
        name.take(answer("192.0.2.1"), now);
        assert_eq!(name.state(), LookupState::Known);
    }
}
