//! What nginx tells of the requests that it has served: lines in a file, written by its workers some at a time.
//!
//! A file never makes a worker wait, as a pipe or a socket that is full would, and loses nothing as a datagram would. What
//! has been read is given back to the disk while the file grows on (`FALLOC_FL_PUNCH_HOLE`), so nobody has to agree on a
//! moment at which it begins anew.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{FallocateFlags, fallocate};
use serde::Deserialize;
use sluice_xds::Request;
use tracing::warn;

use crate::metrics::Requests;

/// How often it is read. Workers write once a second.
const PERIOD: Duration = Duration::from_millis(250);
/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// Bytes that have been read and are still on the disk, at the most.
const KEPT: u64 = 4 << 20;

/// nginx's log, read on and on.
#[derive(Debug)]
pub(crate) struct RequestLog {
    path: PathBuf,
    file: File,
    /// Up to here it has been read.
    read: u64,
    /// Up to here the disk has it back.
    freed: u64,
}

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
    /// Begins an empty one.
    pub(crate) fn begin(path: PathBuf) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&path).with_context(|| path.display().to_string())?;
        Ok(RequestLog { path, file, read: 0, freed: 0 })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
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
                        warn!("{}: {error}; requests are not counted", self.path.display());
                        break;
                    }
                }
                tokio::task::yield_now().await;
            }
        }
    }

    /// Whole lines that were not read yet, or nothing.
    fn next(&mut self) -> io::Result<Vec<Request>> {
        let mut bytes = vec![0; PIECE];
        let count = self.file.read_at(&mut bytes, self.read)?;
        bytes.truncate(count);
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            // What is longer is no line of ours.
            self.read += if count == PIECE { PIECE as u64 } else { 0 };
            return Ok(Vec::new());
        };
        self.read += end as u64 + 1;
        self.free()?;
        let lines = bytes.get(..end).unwrap_or_default().split(|byte| *byte == b'\n');
        Ok(lines.filter_map(request).collect())
    }

    fn free(&mut self) -> io::Result<()> {
        if self.read - self.freed < KEPT {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, flags, self.freed, self.read - self.freed).is_err() {
            // Not every file system can: what comes in just now is lost.
            self.file.set_len(0)?;
            self.read = 0;
        }
        self.freed = self.read;
        Ok(())
    }
}

/// `None`: not a line of ours, such as the rest of one after a crash.
fn request(line: &[u8]) -> Option<Request> {
    let line: Line = serde_json::from_slice(line).ok()?;
    // Whoever was asked was asked for a while, and nobody was where that is not said.
    let was_asked = line.to_end.contains(|letter: char| letter.is_ascii_digit());
    let backend = if line.backend.is_empty() { line.main } else { line.backend };
    let backend = if was_asked { backend } else { String::new() };
    Some(Request {
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
    const KNOWN: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    KNOWN.into_iter().find(|known| *known == text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const LINE: &str = r#"{"location":"a/","backend":"","main":"d/w/80","method":"GET","status":"200","duration":"0.030","connecting":"0.001, 0.000","to_header":"0.010, 0.020","to_end":"0.020, -","received":100,"sent":200}"#;

    fn log() -> (tempfile::TempDir, RequestLog, File) {
        let folder = tempfile::tempdir().unwrap();
        let log = RequestLog::begin(folder.path().join("log")).unwrap();
        let file = OpenOptions::new().append(true).open(log.path()).unwrap();
        (folder, log, file)
    }

    #[test]
    fn whole_lines_are_read_once_and_what_is_no_line_is_left_out() {
        let (_folder, mut log, mut file) = log();
        write!(file, "{LINE}\nnonsense\n{}", &LINE[..20]).unwrap();
        let read = log.next().unwrap();
        let expected = Request {
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
    fn the_disk_gets_back_what_was_read() {
        let (_folder, mut log, mut file) = log();
        let many = format!("{LINE}\n").repeat(10_000);
        let mut count = 0;
        for _ in 0..10 {
            file.write_all(many.as_bytes()).unwrap();
            while let some @ 1.. = log.next().unwrap().len() {
                count += some;
            }
        }
        assert_eq!(count, 100_000);
        assert!(log.freed > 0 && log.read - log.freed < KEPT);
    }

    #[test]
    fn a_method_that_a_client_has_made_up_is_no_label() {
        assert_eq!((method("GET"), method("get"), method("X-1")), ("GET", "", ""));
    }
}
