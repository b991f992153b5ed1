//! The standard error of a data plane, forwarded to the controller's log. It goes through a file: a pipe would break when the
//! controller is killed, and the data plane keeps serving then.

use std::fmt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tracing::warn;

use crate::log_tail::LogTail;
use crate::private_file;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Characters of a last line.
const LONGEST_LAST: usize = 300;

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ChildLog(Arc<Inner>);

struct Inner {
    tail: Mutex<LogTail>,
    log_line: LogLine,
    /// The last line that is not empty, for whoever says why the data plane has ended.
    last: Mutex<String>,
}

/// Logs one line, at its level.
pub(crate) type LogLine = Box<dyn Fn(&str) + Send + Sync>;

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("tail", &self.tail)
            .finish_non_exhaustive()
    }
}

impl ChildLog {
    /// Creates the file, or continues where an earlier controller stopped.
    pub(crate) fn open(file: &Path, log_line: LogLine) -> anyhow::Result<Self> {
        Ok(ChildLog(Arc::new(Inner {
            tail: Mutex::new(LogTail::open(file.to_owned())?),
            log_line,
            last: Mutex::default(),
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

    /// The last line since this was asked before.
    pub(crate) fn take_last(&self) -> Option<String> {
        let last = std::mem::take(&mut *self.last());
        (!last.is_empty()).then_some(last)
    }

    fn last(&self) -> MutexGuard<'_, String> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
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
                Ok(lines) => {
                    let lines = String::from_utf8_lossy(&lines);
                    lines.lines().for_each(&self.0.log_line);
                    if let Some(last) = lines.lines().rfind(|line| !line.trim().is_empty()) {
                        *self.last() = last.trim().chars().take(LONGEST_LAST).collect();
                    }
                }
                Err(error) => {
                    return warn!("{}: {error}; log lines are lost", tail.path().display());
                }
            }
        }
    }
}
