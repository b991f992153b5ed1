//! The standard error of a data plane, forwarded to the controller's log. It goes through a file: a pipe would break when the
//! controller is killed, and the data plane keeps serving then.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tracing::warn;

use crate::log_tail::LogTail;
use crate::private_file;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ChildLog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tail: Mutex<LogTail>,
    /// Logs one line, at its level.
    log_line: fn(&str),
}

impl ChildLog {
    /// Creates the file, or continues where an earlier controller stopped.
    pub(crate) fn open(file: &Path, log_line: fn(&str)) -> anyhow::Result<Self> {
        Ok(ChildLog(Arc::new(Inner {
            tail: Mutex::new(LogTail::open(file.to_owned())?),
            log_line,
        })))
    }

    /// The file, for a child to append to.
    pub(crate) fn stderr(&self) -> anyhow::Result<Stdio> {
        let tail = self.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let file = private_file::options().append(true).open(tail.path());
        Ok(file
            .with_context(|| tail.path().display().to_string())?
            .into())
    }

    /// Forwards lines for as long as it is polled.
    pub(crate) async fn follow(self) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            self.forward();
        }
    }

    /// Forwards the lines that are there.
    pub(crate) fn forward(&self) {
        let mut tail = self.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match tail.next() {
                Ok(lines) if lines.is_empty() => return,
                Ok(lines) => String::from_utf8_lossy(&lines)
                    .lines()
                    .for_each(self.0.log_line),
                Err(error) => {
                    return warn!("{}: {error}; log lines are lost", tail.path().display());
                }
            }
        }
    }
}
