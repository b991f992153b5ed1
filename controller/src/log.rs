//! The log: stderr, one line an event.

use std::io::{IsTerminal, Write, stderr};
use std::panic::{PanicHookInfo, set_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use crate::args::LogFormat;

/// True from the moment on that this process logs JSON: whatever it still says is JSON, too.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// `RUST_LOG` decides what is shown; without it, `filter` does: a level such as `info`.
pub(crate) fn to_stderr(filter: &str, format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(filter));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr)
        // It would say so on standard error, and panic.
        .log_internal_errors(false);
    use_format(format);
    match format {
        LogFormat::Text => log
            .with_ansi(stderr().is_terminal())
            .with_target(false)
            .init(),
        LogFormat::Json => {
            log.json()
                .flatten_event(true)
                .with_current_span(false)
                .with_span_list(false)
                .init();
            set_hook(Box::new(panicked));
        }
    }
}

/// Errors that end the process are written in this format.
pub(crate) fn use_format(format: LogFormat) {
    IS_JSON.store(format == LogFormat::Json, Ordering::Relaxed);
}

/// Writes to stderr, whatever `RUST_LOG` says: as it is, or as an error in JSON. The exit code still says it when nobody reads this.
pub(crate) fn complain(text: &str) {
    if !IS_JSON.load(Ordering::Relaxed) {
        return write(text);
    }
    let text = text.trim_end();
    let message = ["sluice: ", "error: "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    write(&Line::error(message, "sluice").json());
}

fn write(text: &str) {
    stderr().write_all(text.as_bytes()).ok();
}

/// An error as the log's lines of JSON are.
#[derive(Serialize)]
struct Line<'a> {
    timestamp: String,
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backtrace: Option<String>,
    target: &'static str,
}

impl<'a> Line<'a> {
    fn error(message: &'a str, target: &'static str) -> Self {
        let mut timestamp = String::new();
        SystemTime
            .format_time(&mut Writer::new(&mut timestamp))
            .ok();
        Line {
            timestamp,
            level: "ERROR",
            message,
            location: None,
            thread: None,
            backtrace: None,
            target,
        }
    }

    fn json(&self) -> String {
        serde_json::to_string(self).map_or_else(|_| String::new(), |line| line + "\n")
    }
}

/// In the place of the standard library's hook, whose message has several lines.
fn panicked(panic: &PanicHookInfo<'_>) {
    let backtrace = std::backtrace::Backtrace::capture();
    let is_captured = backtrace.status() == std::backtrace::BacktraceStatus::Captured;
    let message = panic.payload_as_str().unwrap_or("no message");
    let line = Line {
        location: panic.location().map(ToString::to_string),
        thread: std::thread::current().name().map(str::to_owned),
        backtrace: is_captured.then(|| backtrace.to_string()),
        ..Line::error(message, "panic")
    };
    write(&line.json());
}
