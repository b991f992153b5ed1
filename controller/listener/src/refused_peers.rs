//! Peers that are rejected, each address logged once a minute: a data plane tries again every second, and others as they like.

use std::collections::HashMap;
use std::fmt::Display;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How often a peer is said.
const INTERVAL: Duration = Duration::from_secs(60);
/// Peers that are remembered; whoever has so many addresses is not waited for.
const MOST: usize = 1000;

/// Errors that were said of each.
#[derive(Debug)]
pub(crate) struct RefusedPeers {
    said: HashMap<IpAddr, Said>,
    advice: fn(&str) -> &'static str,
}

#[derive(Debug)]
struct Said {
    at: Instant,
    /// Attempts since then, this one not yet logged.
    more: u32,
}

impl RefusedPeers {
    /// None so far. `advice` follows an error.
    pub(crate) fn new(advice: fn(&str) -> &'static str) -> Self {
        RefusedPeers {
            said: HashMap::new(),
            advice,
        }
    }

    /// The line to log, if it is time for one.
    pub(crate) fn refused(
        &mut self,
        peer: IpAddr,
        error: &impl Display,
        now: Instant,
    ) -> Option<String> {
        if self.said.len() >= MOST && !self.said.contains_key(&peer) {
            // Of so many addresses at once one line more says nothing.
            self.said.retain(|_, said| now - said.at < INTERVAL);
            if self.said.len() >= MOST {
                return None;
            }
        }
        let error = error.to_string();
        let line = format!("{peer} rejected: {error}{}", (self.advice)(&error));
        // Whatever the error is: its text may be another one each time, and the peer's choice.
        let said = self.said.entry(peer);
        let mut is_new = false;
        let said = said.or_insert_with(|| {
            is_new = true;
            Said { at: now, more: 0 }
        });
        if is_new {
            return Some(line);
        }
        said.more += 1;
        if now - said.at < INTERVAL {
            return None;
        }
        let more = std::mem::take(&mut said.more);
        said.at = now;
        Some(format!(
            "{line} ({more} attempts since this was last logged)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(error: &str) -> &'static str {
        if error.contains("UnknownCA") {
            "; say who signs"
        } else {
            ""
        }
    }

    #[test]
    fn a_peer_is_said_once_a_minute_whatever_its_errors_are() {
        let (mut peers, start) = (RefusedPeers::new(advice), Instant::now());
        let one = IpAddr::from([10, 0, 0, 1]);
        let mut lines = Vec::new();
        for second in 0..=60 {
            let now = start + Duration::from_secs(second);
            let error = match second {
                0 => "received fatal alert: UnknownCA".to_owned(),
                _ => format!("certificate expired {second} seconds ago"),
            };
            lines.extend(peers.refused(one, &error, now));
        }
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(
            lines[0]
                .starts_with("10.0.0.1 rejected: received fatal alert: UnknownCA; say who signs")
        );
        assert!(
            lines[1].ends_with("(60 attempts since this was last logged)"),
            "{lines:?}"
        );
        let two = IpAddr::from([10, 0, 0, 2]);
        assert!(peers.refused(two, &"x", start).is_some());
        assert!(peers.refused(two, &"y", start).is_none());
    }

    #[test]
    fn so_many_peers_take_no_more_memory() {
        let (mut peers, now) = (RefusedPeers::new(advice), Instant::now());
        let said = (0..5000_u32).filter_map(|n| {
            let said = peers.refused(IpAddr::from(n.to_be_bytes()), &"x", now);
            assert!(peers.said.len() <= MOST);
            said
        });
        assert_eq!(said.count(), MOST);
        let later = now + INTERVAL;
        assert!(peers.refused(IpAddr::from([9; 4]), &"x", later).is_some());
    }
}
