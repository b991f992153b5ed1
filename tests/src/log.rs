//! The lines that a process writes, kept, and something to wait on.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};

use crate::wait;

/// All lines so far; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Log {
    lines: Arc<Mutex<Vec<String>>>,
}

impl Log {
    /// Reads to the end in a thread of its own, so that a chatty child never blocks on a full pipe, also while no
    /// runtime turns.
    pub fn follow(&self, stream: impl Read + Send + 'static) {
        let log = self.clone();
        thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                log.push(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
        });
    }

    fn push(&self, line: String) {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    /// The lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many lines there are: a place for [`Log::wait_after`].
    pub fn len(&self) -> usize {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Returns `true` if nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first line with this text, now or soon.
    pub async fn wait_for(&self, text: &str) -> Result<String> {
        self.wait_after(0, text).await
    }

    /// The first line with this text behind a place that [`Log::len`] gave.
    pub async fn wait_after(&self, place: usize, text: &str) -> Result<String> {
        let found = wait::until(&format!("a line with {text:?}"), async || {
            self.find(place, text)
        })
        .await;
        Ok(found
            .with_context(|| format!("the log ends\n{}", self.tail()))?
            .0)
    }

    fn find(&self, place: usize, text: &str) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines
            .iter()
            .skip(place)
            .find(|line| line.contains(text))
            .cloned()
    }

    /// The last lines, for a failure's message.
    pub fn tail(&self) -> String {
        let lines = self.lines();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}
