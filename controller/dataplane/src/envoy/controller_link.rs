//! The connection of an Envoy to a controller elsewhere. Envoy writes a line at each attempt, or none; here there is one for each state,
//! and one a minute while the controller is away.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Method;
use sluice_xds::XDS_CLUSTER;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::admin;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A connection of an Envoy that has just started takes a moment.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is said that the controller is still away.
const REMINDER: Duration = Duration::from_secs(60);
/// Envoy's gauge: 1 while it has a stream, also one that is still to be connected.
const STATE: &str = "control_plane.connected_state";

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct ControllerLink {
    address: String,
    /// Why the last attempt failed, in Envoy's words.
    reason: Arc<Mutex<Option<String>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Of an Envoy that has just started.
    Unknown {
        since: Instant,
    },
    Connected,
    Away {
        said: Instant,
    },
}

/// A line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    Connected,
    Lost,
    NotReached,
}

impl ControllerLink {
    pub(super) fn new(address: String) -> Self {
        ControllerLink {
            address,
            reason: Arc::default(),
        }
    }

    /// Envoy has logged this message about the connection.
    pub(super) fn failed(&self, message: &str) {
        *self.reason() = Some(reason(message).to_owned());
    }

    /// Says what becomes of the connection, for as long as it is polled.
    pub(super) async fn follow(self, admin_socket: PathBuf) {
        let mut state = State::Unknown {
            since: Instant::now(),
        };
        let received = format!("cluster.{XDS_CLUSTER}.upstream_cx_rx_bytes_total");
        let path = format!("/stats?filter={STATE}%7C{received}");
        let mut before = 0;
        loop {
            sleep(POLL_INTERVAL).await;
            let stats = admin::call(&admin_socket, Method::GET, &path).await;
            let is_connected = stats.ok().map(|stats| {
                let seen = Seen::in_stats(&stats, &received);
                if state == State::Connected {
                    before = seen.received;
                }
                // Whoever has answered is there, for as long as the stream lasts.
                let has_answered = state == State::Connected || seen.received != before;
                seen.has_stream && has_answered
            });
            let (next, news) = state.next(is_connected, Instant::now());
            state = next;
            if let Some(news) = news {
                self.tell(news);
            }
        }
    }

    fn tell(&self, news: News) {
        let address = &self.address;
        let reason = match self.reason().take() {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        match news {
            News::Connected => info!("connected to the controller, {address}"),
            News::Lost => warn!(
                "the connection to the controller, {address}, is lost{reason}; envoy serves what it has and connects again"
            ),
            News::NotReached => warn!("cannot reach the controller, {address}{reason}; retrying"),
        }
    }

    fn reason(&self) -> MutexGuard<'_, Option<String>> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// `is_connected`: `None` while there is no Envoy to ask.
    fn next(self, is_connected: Option<bool>, now: Instant) -> (State, Option<News>) {
        let away = State::Away { said: now };
        match (self, is_connected) {
            (State::Connected, Some(true)) => (self, None),
            (_, Some(true)) => (State::Connected, Some(News::Connected)),
            (State::Connected, Some(false)) => (away, Some(News::Lost)),
            (State::Unknown { since }, Some(false)) if now - since >= PATIENCE => {
                (away, Some(News::NotReached))
            }
            (State::Away { said }, Some(false)) if now - said >= REMINDER => {
                (away, Some(News::NotReached))
            }
            // The next Envoy begins anew.
            (State::Connected, None) => (State::Unknown { since: now }, None),
            (State::Unknown { .. } | State::Away { .. }, _) => (self, None),
        }
    }
}

/// Counts of Envoy.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    has_stream: bool,
    /// Bytes of the controller.
    received: u64,
}

impl Seen {
    /// `received`: name of the counter.
    fn in_stats(stats: &str, received: &str) -> Self {
        let value = |name: &str| {
            let values = stats.lines().filter_map(|line| line.split_once(": "));
            let mut values = values.filter(|(known, _)| *known == name);
            values.next_back().and_then(|(_, value)| value.parse().ok())
        };
        Seen {
            has_stream: value(STATE) == Some(1),
            received: value(received).unwrap_or(0),
        }
    }
}

/// `TYPE gRPC config stream to CLUSTER closed[ since TIME ago]: CODE, REASON[{DETAILS}][ (previously ...)]`.
fn reason(message: &str) -> &str {
    let (_, reason) = message.split_once(" closed").unwrap_or(("", message));
    let (_, reason) = reason.split_once(": ").unwrap_or(("", reason));
    let reason = match reason.split_once(", ") {
        Some((code, reason)) if code.bytes().all(|byte| byte.is_ascii_digit()) => reason,
        _ => reason,
    };
    let end = reason.find(" (previously ").unwrap_or(reason.len());
    let end = reason.find('{').unwrap_or(end).min(end);
    reason[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// News of states that were seen a second apart: `+` connected, `-` not, `?` no Envoy.
    fn told(seen: &str) -> Vec<(usize, News)> {
        let start = Instant::now();
        let mut state = State::Unknown { since: start };
        let mut told = Vec::new();
        for (second, seen) in seen.chars().enumerate() {
            let is_connected = match seen {
                '+' => Some(true),
                '-' => Some(false),
                _ => None,
            };
            let now = start + Duration::from_secs(second as u64);
            let (next, news) = state.next(is_connected, now);
            state = next;
            told.extend(news.map(|news| (second, news)));
        }
        told
    }

    #[test]
    fn each_state_is_said_once_and_an_absence_each_minute() {
        use News::{Connected, Lost, NotReached};
        assert_eq!(told("-+++"), [(1, Connected)]);
        assert_eq!(told("++--++"), [(0, Connected), (2, Lost), (4, Connected)]);
        let never = "-".repeat(130);
        let expected = [3, 63, 123].map(|second| (second, NotReached));
        assert_eq!(told(&never), expected);
        let lost = format!("+{}+", "-".repeat(70));
        let expected = [(0, Connected), (1, Lost), (61, NotReached), (71, Connected)];
        assert_eq!(told(&lost), expected);
    }

    #[test]
    fn an_envoy_that_starts_anew_has_lost_nothing() {
        use News::Connected;
        assert_eq!(told("+?-++"), [(0, Connected), (3, Connected)]);
        let gone = format!("+-{}", "?".repeat(70));
        assert_eq!(told(&gone).len(), 2, "nothing is known of its controller");
    }

    #[test]
    fn a_reason_is_what_is_new_in_a_message() {
        let stream = "DeltaAggregatedResources gRPC config stream to sluice closed";
        for (rest, expected) in [
            (": 13, ", ""),
            (": 14, no healthy upstream", "no healthy upstream"),
            (
                " since 61s ago: 14, refused, twice (previously 14, x{y} since 60s ago)",
                "refused, twice",
            ),
        ] {
            assert_eq!(reason(&format!("{stream}{rest}")), expected, "{rest}");
        }
        assert_eq!(reason("something else"), "something else");
    }

    #[test]
    fn a_stream_is_none_before_the_controller_has_answered() {
        let stats = "control_plane.connected_state: 1\ncluster.c.rx: 17\n";
        let expected = Seen {
            has_stream: true,
            received: 17,
        };
        assert_eq!(Seen::in_stats(stats, "cluster.c.rx"), expected);
        let none = Seen {
            has_stream: false,
            received: 0,
        };
        let stats = "control_plane.connected_state: 0\n";
        assert_eq!(Seen::in_stats(stats, "x"), none);
        assert_eq!(Seen::in_stats("", "x"), none);
    }
}
