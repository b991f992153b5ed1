//! What nginx tells of the requests that it has served.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use sluice_xds_server::AccessLogEntry;
use tracing::warn;

use crate::metrics::Requests;
use crate::tail::Tail;

/// How often it is read. Workers write once a second.
const PERIOD: Duration = Duration::from_millis(250);

/// nginx's log, read on and on.
#[derive(Debug)]
pub(crate) struct RequestLog(Tail);

/// A line, as `requests.conf` has it.
#[derive(Deserialize)]
struct Line {
    location: String,
    /// A canary's.
    backend: String,
    main: String,
    method: String,
    status: String,
    duration: String,
    connecting: String,
    to_header: String,
    to_end: String,
    received: u64,
    sent: u64,
}

impl RequestLog {
    /// Begins one, or goes on where a controller before us has ended.
    pub(crate) fn open(path: PathBuf) -> anyhow::Result<Self> {
        Tail::open(path).map(RequestLog)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Tells of requests for as long as it is polled.
    pub(crate) async fn follow(mut self, requests: Requests) {
        loop {
            tokio::time::sleep(PERIOD).await;
            loop {
                match self.next() {
                    Ok(some) if some.is_empty() => break,
                    Ok(some) => requests.take(&some),
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

    /// Requests that were not read yet, or nothing.
    fn next(&mut self) -> io::Result<Vec<AccessLogEntry>> {
        Ok(self
            .0
            .next()?
            .split(|byte| *byte == b'\n')
            .filter_map(request)
            .collect())
    }
}

/// `None`: not a line of ours, such as the rest of one after a crash.
fn request(line: &[u8]) -> Option<AccessLogEntry> {
    let line: Line = serde_json::from_slice(line).ok()?;
    // Whoever was asked was asked for a while, and nobody was where that is not said.
    let was_asked = line.to_end.contains(|letter: char| letter.is_ascii_digit());
    let backend = if line.backend.is_empty() {
        line.main
    } else {
        line.backend
    };
    let backend = if was_asked { backend } else { String::new() };
    Some(AccessLogEntry {
        location: line.location,
        backend,
        method: method(&line.method),
        status: line.status.parse().ok()?,
        duration: seconds(&line.duration),
        connecting: seconds(&line.connecting),
        to_header: seconds(&line.to_header),
        to_end: seconds(&line.to_end),
        received: line.received,
        sent: line.sent,
    })
}

/// The last of several attempts, which nginx writes with commas between, and with colons where another backend was asked.
fn seconds(text: &str) -> Option<Duration> {
    let last = text.rsplit([',', ':']).next()?;
    Duration::try_from_secs_f64(last.trim().parse().ok()?).ok()
}

/// Methods are chosen by clients, and labels are not.
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

    const LINE: &str = r#"{"location":"a/","backend":"","main":"d/w/80","method":"GET","status":"200","duration":"0.030","connecting":"0.001, 0.000","to_header":"0.010, 0.020","to_end":"0.020, -","received":100,"sent":200}"#;

    fn log() -> (tempfile::TempDir, RequestLog, File) {
        let folder = tempfile::tempdir().unwrap();
        let log = RequestLog::open(folder.path().join("log")).unwrap();
        let file = OpenOptions::new().append(true).open(log.path()).unwrap();
        (folder, log, file)
    }

    #[test]
    fn whole_lines_are_read_once_and_what_is_no_line_is_left_out() {
        let (_folder, mut log, mut file) = log();
        write!(file, "{LINE}\nnonsense\n{}", &LINE[..20]).unwrap();
        let read = log.next().unwrap();
        let expected = AccessLogEntry {
            location: "a/".to_owned(),
            backend: "d/w/80".to_owned(),
            method: "GET",
            status: 200,
            duration: Some(Duration::from_millis(30)),
            connecting: Some(Duration::ZERO),
            to_header: Some(Duration::from_millis(20)),
            to_end: None,
            received: 100,
            sent: 200,
        };
        assert_eq!(read, [expected]);
        assert!(log.next().unwrap().is_empty());
        writeln!(file, "{}", &LINE[20..]).unwrap();
        assert_eq!(log.next().unwrap().len(), 1);
    }

    #[test]
    fn a_method_that_a_client_has_made_up_is_no_label() {
        assert_eq!(
            (method("GET"), method("get"), method("X-1")),
            ("GET", "", "")
        );
    }
}
