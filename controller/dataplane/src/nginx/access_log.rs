//! nginx's access log, copied to our standard output or standard error.
//!
//! nginx cannot open these two itself where they are sockets, as under systemd, and would reject its whole configuration.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_nginx::AccessLog as Files;
use sluice_tasks::Tasks;
use tracing::warn;

use crate::log_tail::LogTail;

/// Workers write once a second.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The two files. A handle, cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct AccessLog(Arc<Mutex<Tails>>);

#[derive(Debug)]
struct Tails {
    output: LogTail,
    errors: LogTail,
}

impl AccessLog {
    /// Creates the files, or continues where an earlier controller stopped.
    pub(super) fn open(directory: &Path) -> anyhow::Result<Self> {
        let (output, errors) = (
            LogTail::open(directory.join("access.out"))?,
            LogTail::open(directory.join("access.err"))?,
        );
        Ok(AccessLog(Arc::new(Mutex::new(Tails { output, errors }))))
    }

    /// The files that nginx writes.
    pub(super) fn files(&self) -> Files {
        let tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Files {
            output: tails.output.path().to_owned(),
            errors: tails.errors.path().to_owned(),
        }
    }

    /// Copies lines until the process exits, on a thread of its own, because the reader may be slow.
    pub(super) fn follow(&self, tasks: &Tasks) -> anyhow::Result<()> {
        let log = self.clone();
        tasks.spawn_thread("access log", move || {
            loop {
                std::thread::sleep(POLL_INTERVAL);
                log.forward();
            }
        })
    }

    /// Copies the lines that are there. After nginx has exited, there will be no more.
    pub(super) fn forward(&self) {
        let mut tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Tails { output, errors } = &mut *tails;
        let copied = copy(output, &mut io::stdout()).and_then(|()| copy(errors, &mut io::stderr()));
        if let Err(error) = copied {
            warn!("access log lines are lost: {error}");
        }
    }
}

fn copy(tail: &mut LogTail, to: &mut impl Write) -> io::Result<()> {
    loop {
        let lines = tail.next()?;
        if lines.is_empty() {
            return to.flush();
        }
        to.write_all(&lines)?;
    }
}
