//! nginx's log lines in our log: `2026/01/31 12:00:00 [error] 1#1: text`.

use tracing::{debug, error, info, warn};

/// Logs a line, at its level.
pub(super) fn log_line(line: &str) {
    let level = line
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    match level {
        Some(("emerg" | "alert" | "crit" | "error", text)) => {
            error!(target: "nginx", "{}", text.trim_start());
        }
        Some(("warn", text)) => warn!(target: "nginx", "{}", text.trim_start()),
        Some(("notice" | "info" | "debug", text)) => {
            debug!(target: "nginx", "{}", text.trim_start());
        }
        _ => info!(target: "nginx", "{line}"),
    }
}
