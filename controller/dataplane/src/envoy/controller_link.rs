//! The connection of an Envoy to a controller elsewhere. Envoy logs each attempt, or nothing; here there is one line for each change of
//! state, and one a minute while the controller cannot be reached.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use sluice_xds::XDS_CLUSTER;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::admin;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// An Envoy that has just started takes a moment to connect.
const STARTUP_GRACE: Duration = Duration::from_secs(3);
const REMINDER_INTERVAL: Duration = Duration::from_secs(60);
/// Envoy's gauge: 1 while it has a stream, also one that is still to be connected.
const CONNECTED: &str = "control_plane.connected_state";
/// Envoy's gauge: its age in seconds.
const UPTIME: &str = "server.uptime";

/// Watches the connection of one Envoy to its controller, and logs its changes of state.
#[derive(Clone, Debug)]
pub(super) struct ControllerLink {
    address: String,
    /// Why the last attempt failed, in Envoy's words.
    last_failure: Arc<Mutex<Option<String>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Of an Envoy that has just started.
    Starting {
        since: Instant,
    },
    Connected,
    Unreachable {
        logged_at: Instant,
    },
}

/// A line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkEvent {
    Connected,
    Lost,
    Unreachable,
}

impl ControllerLink {
    pub(super) fn new(address: String) -> Self {
        ControllerLink {
            address,
            last_failure: Arc::default(),
        }
    }

    /// Notes a message of Envoy about the connection.
    pub(super) fn failed(&self, message: &str) {
        let mut last = self
            .last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(parse_reason(message).to_owned()).filter(|reason| !reason.is_empty());
    }

    /// Logs changes of state for as long as it is polled.
    pub(super) async fn follow(self, admin_socket: PathBuf) {
        let received = format!("cluster.{XDS_CLUSTER}.upstream_cx_rx_bytes_total");
        let path = format!("/stats?filter={CONNECTED}%7C{UPTIME}%7C{received}");
        let mut watched = Watched::new(Instant::now());
        loop {
            sleep(POLL_INTERVAL).await;
            // An Envoy that does not answer may be busy, or gone: nothing is known of its connection.
            if let Ok(text) = admin::call(&admin_socket, Method::GET, &path).await
                && let Some(event) =
                    watched.update(&StreamStats::parse(&text, &received), Instant::now())
            {
                self.log_event(event);
            }
        }
    }

    fn log_event(&self, event: LinkEvent) {
        let address = &self.address;
        let mut last = self
            .last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let reason = last
            .take()
            .map_or_else(String::new, |reason| format!(": {reason}"));
        match event {
            LinkEvent::Connected => info!("connected to the controller at {address}"),
            LinkEvent::Lost => warn!(
                "lost connection to the controller at {address}{reason}; envoy keeps its last configuration and reconnects"
            ),
            LinkEvent::Unreachable => {
                warn!("cannot reach the controller at {address}{reason}; retrying");
            }
        }
    }
}

/// The state of the connection, and what it was concluded from.
#[derive(Debug)]
struct Watched {
    state: State,
    /// Bytes that the controller had sent when it was connected last.
    received: u64,
    uptime: u64,
}

impl Watched {
    fn new(now: Instant) -> Self {
        Watched {
            state: State::Starting { since: now },
            received: 0,
            uptime: 0,
        }
    }

    fn update(&mut self, stats: &StreamStats, now: Instant) -> Option<LinkEvent> {
        // Another Envoy, which has lost nothing.
        if stats.uptime < self.uptime {
            *self = Watched::new(now);
        }
        self.uptime = stats.uptime;
        // Whoever has answered is there, for as long as the stream lasts.
        let has_answered = self.state == State::Connected || stats.received != self.received;
        let (state, event) = self.state.next(stats.has_stream && has_answered, now);
        self.state = state;
        if state == State::Connected {
            self.received = stats.received;
        }
        event
    }
}

impl State {
    fn next(self, is_connected: bool, now: Instant) -> (State, Option<LinkEvent>) {
        let unreachable = State::Unreachable { logged_at: now };
        match (self, is_connected) {
            (State::Connected, true) => (self, None),
            (_, true) => (State::Connected, Some(LinkEvent::Connected)),
            (State::Connected, false) => (unreachable, Some(LinkEvent::Lost)),
            (State::Starting { since }, false) if now - since >= STARTUP_GRACE => {
                (unreachable, Some(LinkEvent::Unreachable))
            }
            (State::Unreachable { logged_at }, false) if now - logged_at >= REMINDER_INTERVAL => {
                (unreachable, Some(LinkEvent::Unreachable))
            }
            (State::Starting { .. } | State::Unreachable { .. }, false) => (self, None),
        }
    }
}

/// Envoy's counters for its connection to the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StreamStats {
    has_stream: bool,
    /// Bytes from the controller.
    received: u64,
    uptime: u64,
}

impl StreamStats {
    /// `received`: name of the counter.
    fn parse(text: &str, received: &str) -> Self {
        let value = |name: &str| -> u64 {
            let values = text.lines().filter_map(|line| line.split_once(": "));
            let mut values = values.filter(|(known, _)| *known == name);
            let value = values.next_back().and_then(|(_, value)| value.parse().ok());
            value.unwrap_or(0)
        };
        StreamStats {
            has_stream: value(CONNECTED) == 1,
            received: value(received),
            uptime: value(UPTIME),
        }
    }
}

/// The reason in `TYPE gRPC config stream to CLUSTER closed[ since TIME ago]: CODE, REASON[{DETAILS}][ (previously ...)]`.
fn parse_reason(message: &str) -> &str {
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
    use LinkEvent::{Connected, Lost, Unreachable};

    /// Events of an Envoy that is looked at every second: `+` it has a stream and the controller answers, `=` it has a stream and nothing
    /// comes, `-` it has none, `?` it does not answer, `*` another Envoy has started.
    fn events(seen: &str) -> Vec<(usize, LinkEvent)> {
        let start = Instant::now();
        let mut watched = Watched::new(start);
        let mut stats = StreamStats::default();
        let mut events = Vec::new();
        for (second, seen) in seen.chars().enumerate() {
            stats.uptime += 1;
            match seen {
                '+' => (stats.has_stream, stats.received) = (true, stats.received + 9),
                '=' => stats.has_stream = true,
                '-' => stats.has_stream = false,
                '*' => stats = StreamStats::default(),
                _ => continue,
            }
            let now = start + Duration::from_secs(second as u64);
            events.extend(watched.update(&stats, now).map(|event| (second, event)));
        }
        events
    }

    #[test]
    fn each_state_is_logged_once_and_an_absence_each_minute() {
        assert_eq!(events("-+++"), [(1, Connected)]);
        assert_eq!(
            events("++--++"),
            [(0, Connected), (2, Lost), (4, Connected)]
        );
        let expected = [3, 63, 123].map(|second| (second, Unreachable));
        assert_eq!(events(&"-".repeat(130)), expected);
        let lost = format!("+{}+", "-".repeat(70));
        let expected = [
            (0, Connected),
            (1, Lost),
            (61, Unreachable),
            (71, Connected),
        ];
        assert_eq!(events(&lost), expected);
    }

    /// Envoy counts a stream that is yet to be connected.
    #[test]
    fn a_stream_is_none_before_the_controller_has_answered() {
        assert_eq!(events("==-=="), [(3, Unreachable)]);
        assert_eq!(events("+-=="), [(0, Connected), (1, Lost)]);
        assert_eq!(events("+====="), [(0, Connected)]);
    }

    #[test]
    fn nothing_is_concluded_from_an_envoy_that_does_not_answer() {
        assert_eq!(events("+=?==??=="), [(0, Connected)]);
        let gone = format!("+-{}", "?".repeat(70));
        assert_eq!(events(&gone), [(0, Connected), (1, Lost)]);
    }

    #[test]
    fn another_envoy_has_lost_nothing() {
        assert_eq!(events("++??*++"), [(0, Connected), (5, Connected)]);
        assert_eq!(events("++*---"), [(0, Connected), (5, Unreachable)]);
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
            (
                ": 14, remote connection failure{details|more}",
                "remote connection failure",
            ),
        ] {
            assert_eq!(parse_reason(&format!("{stream}{rest}")), expected, "{rest}");
        }
        assert_eq!(parse_reason("something else"), "something else");
    }

    #[test]
    fn stats_are_read_by_their_names() {
        let text = "cluster.c.rx: 17\ncontrol_plane.connected_state: 1\nserver.uptime: 5\n";
        let expected = StreamStats {
            has_stream: true,
            received: 17,
            uptime: 5,
        };
        assert_eq!(StreamStats::parse(text, "cluster.c.rx"), expected);
        assert_eq!(StreamStats::parse("", "x"), StreamStats::default());
    }
}
