//! The log of sampled requests, which spans are made of.

use std::path::Path;
use std::time::Duration;

use tracing::warn;

use crate::log_tail::LogTail;

/// Workers write once a second.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The reader of the log.
#[derive(Debug)]
pub struct SpanLog(LogTail);

impl SpanLog {
    /// Creates the file, or continues where an earlier controller stopped.
    pub(super) fn open(directory: &Path) -> anyhow::Result<Self> {
        LogTail::open(sluice_nginx::span_log(directory)).map(SpanLog)
    }

    /// Waits for lines.
    pub async fn next(&mut self) -> Vec<u8> {
        loop {
            match self.0.next() {
                Ok(lines) if lines.is_empty() => {}
                Ok(lines) => return lines,
                Err(error) => {
                    warn!("{}: {error}; spans are lost", self.0.path().display());
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
