//! Envoy's log lines in our log.

use tracing::{debug, error, info, warn};

/// Logs a line in the format of `--log-format`, at its level.
pub(super) fn log_line(line: &str) {
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
        _ => info!(target: "envoy", "{line}"),
    }
}
