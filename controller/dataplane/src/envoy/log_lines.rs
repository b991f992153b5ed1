//! Envoy's log lines in our log.

use std::collections::HashMap;
use std::io::{Write, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tracing::{debug, error, info, warn};

use super::controller_link::ControllerLink;

/// Envoy warns of each of these; the first is our own signal.
const TERMINATED: &str = "caught ENVOY_SIGTERM";
/// Behind the type of the stream: the controller ended it, is gone, or was never there; at each attempt to reach it.
const LOST: &str = "gRPC config stream to ";
/// Envoy says in four lines what it tells the controller, whose NACK is in our log.
const REJECTED: [&str; 4] = [
    "listener '",
    "lds: listener '",
    "delta config for ",
    "gRPC config for ",
];

/// A listener that is refused comes again within a minute, and is refused for the same reason.
const REPEATED: Duration = Duration::from_secs(120);

/// The latest rejections of an Envoy, and when it has said them last.
#[derive(Debug, Default)]
pub(super) struct Rejections(Mutex<HashMap<String, Instant>>);

impl Rejections {
    /// True if it has said the same a moment ago.
    fn is_repeated(&self, text: &str, now: Instant) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.retain(|_, at| now.saturating_duration_since(*at) < REPEATED);
        said.insert(text.to_owned(), now).is_some()
    }
}

/// A line of Envoy's standard error.
#[derive(Debug, PartialEq, Eq)]
enum Line<'l> {
    /// Of Envoy itself, as we have told it to write them.
    Message {
        level: &'l str,
        component: &'l str,
        text: &'l str,
    },
    /// A message of several lines goes on.
    Continuation,
    /// Of the access log, in JSON: the format is the operator's.
    Object,
    /// Whatever else; of the access log, too.
    Other,
    Empty,
}

impl Line<'_> {
    /// Texts of clients are in lines of the access log: only how a line begins says what it is.
    fn read(line: &str) -> Line<'_> {
        let mut fields = line.splitn(3, '\t');
        match (fields.next(), fields.next(), fields.next()) {
            (
                Some(level @ ("error" | "critical" | "warning" | "info" | "debug" | "trace")),
                Some(component),
                Some(text),
            ) => Line::Message {
                level,
                component,
                text,
            },
            _ if line.trim().is_empty() => Line::Empty,
            _ if line.starts_with(' ') => Line::Continuation,
            _ if is_object(line) => Line::Object,
            _ => Line::Other,
        }
    }
}

/// Logs a line in the format of `--log-format`, at its level, of an Envoy whose controller is this process: its streams end
/// when we do, and what it rejects we know.
pub(super) fn of_our_own(line: &str) {
    log_line(line, |text| is_lost(text) || is_rejection(text));
}

/// The same of an Envoy whose controller is elsewhere: the link says that it is away, and why. A rejection is logged once.
pub(super) fn of_a_remote_controller(line: &str, link: &ControllerLink, rejections: &Rejections) {
    log_line(line, |text| {
        if is_rejection(text) {
            return rejections.is_repeated(text, Instant::now());
        }
        let is_lost = is_lost(text);
        if is_lost {
            link.failed(text);
        }
        is_lost
    });
}

/// Only how a message begins says what it is: a rejection quotes texts of tenants.
fn is_lost(text: &str) -> bool {
    text.split_once(' ')
        .is_some_and(|(_, rest)| rest.starts_with(LOST))
}

fn is_rejection(text: &str) -> bool {
    REJECTED.iter().any(|beginning| text.starts_with(beginning))
}

/// `is_known`: the text of a message that is no news.
fn log_line(line: &str, is_known: impl Fn(&str) -> bool) {
    match Line::read(line) {
        Line::Message { text, .. } if text.starts_with(TERMINATED) || is_known(text) => {
            debug!(target: "envoy", "{line}");
        }
        Line::Message {
            level,
            component,
            text,
        } => match level {
            "error" | "critical" => error!(target: "envoy", "{component}: {text}"),
            "warning" => warn!(target: "envoy", "{component}: {text}"),
            _ => debug!(target: "envoy", "{component}: {text}"),
        },
        Line::Continuation => debug!(target: "envoy", "{line}"),
        Line::Object => drop(stderr().write_all(format!("{line}\n").as_bytes())),
        Line::Other => info!(target: "envoy", "{line}"),
        Line::Empty => {}
    }
}

fn is_object(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<Map<String, Value>>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a client writes: its line of the access log is logged.
    #[test]
    fn texts_of_clients_make_no_message_of_a_line() {
        for text in [TERMINATED, LOST, "error\tmain\tx", " ", "{}"] {
            let escaped = serde_json::to_string(text).unwrap();
            let object = format!("{{\"agent\": {escaped}}}");
            assert_eq!(Line::read(&object), Line::Object, "{object}");
            let plain = format!("127.0.0.1 - \"GET /\" {text}");
            assert_eq!(Line::read(&plain), Line::Other, "{plain}");
        }
    }

    #[test]
    fn messages_of_envoy_are_known_by_their_beginning() {
        assert!(is_lost(
            "DeltaAggregatedResources gRPC config stream to c closed: 14, x"
        ));
        assert!(!is_lost(
            "delta config rejected: x gRPC config stream to c closed"
        ));
        let message = Line::Message {
            level: "warning",
            component: "main",
            text: "caught ENVOY_SIGTERM",
        };
        assert_eq!(Line::read("warning\tmain\tcaught ENVOY_SIGTERM"), message);
        assert_eq!(Line::read("  type_url: x"), Line::Continuation);
        assert_eq!(Line::read(" "), Line::Empty);
        assert_eq!(Line::read("[1]"), Line::Other);
    }

    #[test]
    fn a_rejection_is_news_unless_it_was_said_a_moment_ago() {
        let (rejections, start) = (Rejections::default(), Instant::now());
        for (text, after, expected) in [
            ("a", 0, false),
            ("b", 0, false),
            ("a", 60, true),
            ("a", 170, true),
            ("b", 170, false),
            ("a", 290, false),
        ] {
            let now = start + Duration::from_secs(after);
            let is_repeated = rejections.is_repeated(text, now);
            assert_eq!(is_repeated, expected, "{text} after {after} s");
        }
    }

    #[test]
    fn lines_of_an_access_log_in_json_are_told_from_messages() {
        for (line, expected) in [
            (r#"{"status": 200}"#, true),
            (r#"{"status": -}"#, false),
            ("[1]", false),
            ("error\tmain\t{\"a\": 1}", false),
            ("", false),
        ] {
            assert_eq!(is_object(line), expected, "{line}");
        }
    }
}
