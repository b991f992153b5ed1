//! Outcome of a request, and the token that it is understood by.

use std::rc::Rc;
use std::time::Duration;

use crate::EndpointIdx;
use crate::affinity::{Affinity, SessionKey};
use crate::balance::Candidates;
use crate::endpoint_state::{EndpointState, Serial};

/// Outcome of a completed request, as the data plane reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// `ip:port` of the last attempt; none when there was none.
    pub endpoint: Option<&'a str>,
    /// The status that the client saw; none when it went away before, or if nothing observes it.
    pub status: Option<u16>,
    /// How long the last attempt took.
    pub response_time: Option<Duration>,
    /// How many attempts there were.
    pub attempts: u32,
}

/// Values that are needed at the end of a request: the shell reads no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    /// Only that it is over.
    pub end: bool,
    /// The endpoint and the response time; where that is missing, the status, which tells why.
    pub latency: bool,
    /// The endpoint and the status.
    pub status: bool,
    /// The number of attempts, too.
    pub failures: bool,
}

/// Held for a request while it is under way, where a policy wants to hear of it.
#[derive(Debug)]
pub struct RequestToken {
    pub(crate) backend: Rc<str>,
    pub(crate) picks: Picks,
    pub(crate) interest: Interest,
    pub(crate) session: Option<NewSession>,
}

/// A session that may begin with the response.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub(crate) affinity: Rc<Affinity>,
    pub(crate) path: Rc<str>,
    pub(crate) none_is_understood: bool,
    pub(crate) stays: Option<Serial>,
    pub(crate) keys: Vec<(Serial, SessionKey)>,
}

/// The candidates of a request, known across a change of the tables.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Picks {
    picks: [Pick; Candidates::MAX],
    len: usize,
}

/// One candidate: who it is, and where it was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pick {
    pub(crate) serial: Serial,
    pub(crate) was_at: EndpointIdx,
}

impl RequestToken {
    /// Values to read when the request is complete.
    #[must_use]
    pub fn interest(&self) -> Interest {
        self.interest
    }

    /// True if a session may begin with the response.
    #[must_use]
    pub fn awaits_response(&self) -> bool {
        self.session.is_some()
    }
}

impl Interest {
    /// True if no value is needed.
    #[must_use]
    pub fn nothing(self) -> bool {
        self == Interest::default()
    }
}

impl Picks {
    pub(crate) fn from_candidates(candidates: &Candidates, states: &[EndpointState]) -> Self {
        let mut picks = Picks::default();
        for (slot, idx) in picks.picks.iter_mut().zip(candidates.iter()) {
            let serial = states
                .get(idx)
                .map(|state| state.serial)
                .unwrap_or_default();
            *slot = Pick {
                serial,
                was_at: idx,
            };
            picks.len += 1;
        }
        picks
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Pick> + '_ {
        self.picks.iter().take(self.len).copied()
    }

    pub(crate) fn first(&self) -> Option<Pick> {
        self.iter().next()
    }
}

/// A source of serials, one for all backends of a worker.
#[derive(Debug, Default)]
pub(crate) struct Serials(u64);

impl Serials {
    pub(crate) fn next(&mut self) -> Serial {
        self.0 += 1;
        Serial(self.0)
    }
}

/// The attempts of nginx's `$upstream_addr`, `$upstream_status` and the like: separated by commas, and by colons between
/// blanks where an internal redirect began anew.
pub fn attempts(list: &str) -> impl Iterator<Item = &str> {
    // By single letters: looking for a text has a price at its start, and this is read at the end of every request.
    list.split(' ')
        .map(|part| part.trim_end_matches(','))
        .filter(|part| !part.is_empty() && *part != ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_separated_by_commas_and_by_redirects() {
        let list = |raw| attempts(raw).collect::<Vec<_>>();
        assert_eq!(
            list("127.0.0.1:26157 : 127.0.0.1:26158"),
            ["127.0.0.1:26157", "127.0.0.1:26158"]
        );
        assert_eq!(
            list("unix:/x.sock, 10.0.0.1:80"),
            ["unix:/x.sock", "10.0.0.1:80"]
        );
        assert_eq!(
            list("[::1]:80, [::2]:80 : 10.0.0.1:80").last(),
            Some(&"10.0.0.1:80")
        );
        assert_eq!(list("502, 200 : -"), ["502", "200", "-"]);
        assert_eq!(list(""), [""; 0]);
    }
}
