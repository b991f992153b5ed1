//! The log: stderr, one line an event.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// `RUST_LOG` decides what is shown; without it, `filter` does: a level such as `info`.
pub(crate) fn to_stderr(filter: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // It would say so on standard error, and panic.
        .log_internal_errors(false)
        .init();
}
