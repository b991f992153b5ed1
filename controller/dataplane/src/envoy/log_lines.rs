//! Envoy's log lines in our log.

use std::io::{Write, stderr};

use serde_json::{Map, Value};
use tracing::{debug, error, info, warn};

/// Envoy warns of each of these; the first is our own signal.
const TERMINATED: &str = "caught ENVOY_SIGTERM";
/// The controller ended the stream, or is gone.
const LOST: &str = "gRPC config stream to ";
/// The same, at each attempt to reach it again.
const STILL_LOST: &str = " closed since ";

/// Logs a line in the format of `--log-format`, at its level, of an Envoy whose controller is this process: its streams end
/// when we do.
pub(super) fn of_our_own(line: &str) {
    if line.contains(LOST) {
        return debug!(target: "envoy", "{line}");
    }
    log_line(line);
}

/// The same of an Envoy whose controller is elsewhere: that it is lost is said once.
pub(super) fn of_a_remote_controller(line: &str) {
    if line.contains(LOST) && line.contains(STILL_LOST) {
        return debug!(target: "envoy", "{line}");
    }
    log_line(line);
}

fn log_line(line: &str) {
    if line.contains(TERMINATED) {
        return debug!(target: "envoy", "{line}");
    }
    let mut fields = line.splitn(3, '\t');
    match (fields.next(), fields.next(), fields.next()) {
        (Some("error" | "critical"), Some(component), Some(text)) => {
            error!(target: "envoy", "{component}: {text}");
        }
        (Some("warning"), Some(component), Some(text)) => {
            warn!(target: "envoy", "{component}: {text}");
        }
        (Some("info" | "debug" | "trace"), Some(component), Some(text)) => {
            debug!(target: "envoy", "{component}: {text}");
        }
        _ if line.trim().is_empty() => {}
        // A line of several goes on: of a message about configuration.
        _ if line.starts_with(' ') => debug!(target: "envoy", "{line}"),
        // Envoy's own messages are none: the operator's format of the access log.
        _ if is_object(line) => drop(stderr().write_all(format!("{line}\n").as_bytes())),
        _ => info!(target: "envoy", "{line}"),
    }
}

fn is_object(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<Map<String, Value>>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
