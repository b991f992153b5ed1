//! The log of served requests, which metrics are made of.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use sluice_xds_server::{AccessLogEntry, Ejection};
use tracing::warn;

use crate::log_tail::LogTail;

/// Workers write once a second.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The reader of the log.
#[derive(Debug)]
pub struct RequestLog(LogTail);

/// A line in the format of `requests.conf`.
#[derive(Deserialize)]
struct Line {
    route: String,
    /// The canary's backend, if the request went to one.
    backend: String,
    main: String,
    /// Lines of an nginx that an earlier controller has configured have none.
    #[serde(default)]
    endpoint: String,
    method: String,
    status: String,
    duration: String,
    connecting: String,
    to_header: String,
    to_end: String,
    received: u64,
    sent: u64,
    /// As that of `endpoint`.
    #[serde(default)]
    ejections: String,
}

impl RequestLog {
    /// Creates the file, or continues where an earlier controller stopped.
    pub(super) fn open(path: PathBuf) -> anyhow::Result<Self> {
        LogTail::open(path).map(RequestLog)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Passes requests to `count` for as long as it is polled.
    pub async fn follow(mut self, count: impl Fn(&[AccessLogEntry]) + Send + Sync) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            loop {
                match self.next() {
                    Ok(some) if some.is_empty() => break,
                    Ok(some) => count(&some),
                    Err(error) => {
                        warn!(
                            "{}: {error}; requests are not counted",
                            self.path().display()
                        );
                        break;
                    }
                }
                tokio::task::yield_now().await;
            }
        }
    }

    /// Unread requests; empty when there are none.
    fn next(&mut self) -> io::Result<Vec<AccessLogEntry>> {
        Ok(self
            .0
            .next()?
            .split(|byte| *byte == b'\n')
            .filter_map(request)
            .collect())
    }
}

/// Parses a line; `None`: not one of ours, such as half a line after a crash.
fn request(line: &[u8]) -> Option<AccessLogEntry> {
    let line: Line = serde_json::from_slice(line).ok()?;
    // The upstream time is missing if no upstream was contacted.
    let has_upstream = line.to_end.contains(|letter: char| letter.is_ascii_digit());
    let backend = if line.backend.is_empty() {
        line.main
    } else {
        line.backend
    };
    let backend = if has_upstream { backend } else { String::new() };
    Some(AccessLogEntry {
        route: line.route,
        backend,
        endpoint: last(&line.endpoint).and_then(|text| text.parse().ok()),
        method: method(&line.method),
        status: line.status.parse().ok()?,
        duration: seconds(&line.duration),
        connecting: seconds(&line.connecting),
        to_header: seconds(&line.to_header),
        to_end: seconds(&line.to_end),
        received: line.received,
        sent: line.sent,
        ejections: Ejection::parse_list(&line.ejections),
    })
}

/// The last of several attempts. nginx separates them by commas, and by colons where the backend changed.
fn last(text: &str) -> Option<&str> {
    let of_backend = text.rsplit(" : ").next()?;
    of_backend.rsplit(',').next().map(str::trim)
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(last(text)?.parse().ok()?).ok()
}

/// The method as a metric label; empty for unknown ones, because clients choose them.
fn method(text: &str) -> &'static str {
    const KNOWN: [&str; 9] = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
    ];
    KNOWN
        .into_iter()
        .find(|known| *known == text)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::io::Write;

    use super::*;

    const LINE: &str = r#"{"route":"a/","backend":"","main":"d/w/80","endpoint":"127.0.0.1:1, 127.0.0.2:2 : [::1]:3","method":"GET","status":"200","duration":"0.030","connecting":"0.001, 0.000","to_header":"0.010, 0.020","to_end":"0.020, -","received":100,"sent":200,"ejections":"127.0.0.1:1 30"}"#;

    fn log() -> (tempfile::TempDir, RequestLog, File) {
        let directory = tempfile::tempdir().unwrap();
        let log = RequestLog::open(directory.path().join("log")).unwrap();
        let file = OpenOptions::new().append(true).open(log.path()).unwrap();
        (directory, log, file)
    }

    #[test]
    fn complete_lines_are_read_once_and_malformed_ones_skipped() {
        let (_directory, mut log, mut file) = log();
        write!(file, "{LINE}\nnonsense\n{}", &LINE[..20]).unwrap();
        let read = log.next().unwrap();
        let expected = AccessLogEntry {
            route: "a/".to_owned(),
            backend: "d/w/80".to_owned(),
            endpoint: "[::1]:3".parse().ok(),
            method: "GET",
            status: 200,
            duration: Some(Duration::from_millis(30)),
            connecting: Some(Duration::ZERO),
            to_header: Some(Duration::from_millis(20)),
            to_end: None,
            received: 100,
            sent: 200,
            ejections: Ejection::parse_list("127.0.0.1:1 30"),
        };
        assert_eq!(read, [expected]);
        assert!(log.next().unwrap().is_empty());
        writeln!(file, "{}", &LINE[20..]).unwrap();
        assert_eq!(log.next().unwrap().len(), 1);
    }

    #[test]
    fn unknown_method_is_no_label() {
        assert_eq!(
            (method("GET"), method("get"), method("X-1")),
            ("GET", "", "")
        );
    }
}
