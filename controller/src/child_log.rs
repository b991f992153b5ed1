//! What a data plane writes to its standard error, in our log. It goes through a file: a pipe would end with us, and what
//! we have started serves on when we are killed.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tracing::warn;

use crate::private;
use crate::tail::Tail;

/// How often it is looked for more.
const PERIOD: Duration = Duration::from_millis(100);

/// A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ChildLog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tail: Mutex<Tail>,
    /// Gives a line to our log, at its level.
    pass_on: fn(&str),
}

impl ChildLog {
    /// Begins, or goes on where a controller before us has ended.
    pub(crate) fn open(file: &Path, pass_on: fn(&str)) -> anyhow::Result<Self> {
        Ok(ChildLog(Arc::new(Inner {
            tail: Mutex::new(Tail::open(file.to_owned())?),
            pass_on,
        })))
    }

    /// Where a child writes.
    pub(crate) fn stderr(&self) -> anyhow::Result<Stdio> {
        let tail = self.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let file = private::options().append(true).open(tail.path());
        Ok(file
            .with_context(|| tail.path().display().to_string())?
            .into())
    }

    /// Passes lines on for as long as it is polled.
    pub(crate) async fn follow(self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            self.pass_on();
        }
    }

    /// Passes on what is there.
    pub(crate) fn pass_on(&self) {
        let mut tail = self.0.tail.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match tail.next() {
                Ok(lines) if lines.is_empty() => return,
                Ok(lines) => String::from_utf8_lossy(&lines)
                    .lines()
                    .for_each(self.0.pass_on),
                Err(error) => {
                    return warn!("{}: {error}; its lines are lost", tail.path().display());
                }
            }
        }
    }
}
