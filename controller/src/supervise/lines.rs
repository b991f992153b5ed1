//! Envoy's lines, in our log, at their level.

use tracing::{debug, error, info, warn};

/// One of them, in the format of `--log-format`.
pub(super) fn pass_on(line: &str) {
    let mut parts = line.splitn(3, '\t');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("error" | "critical"), Some(component), Some(text)) => {
            error!(target: "envoy", "{component}: {text}");
        }
        (Some("warning"), Some(component), Some(text)) => {
            warn!(target: "envoy", "{component}: {text}");
        }
        (Some("info" | "debug" | "trace"), Some(component), Some(text)) => {
            debug!(target: "envoy", "{component}: {text}");
        }
        _ => info!(target: "envoy", "{line}"),
    }
}
