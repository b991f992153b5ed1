//! What nginx has written down for people, passed on to where they read it: our standard output, or standard error.
//!
//! nginx cannot open these two itself wherever they are sockets, as under systemd, and would refuse its whole
//! configuration then.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_nginx::AccessLog as Files;
use sluice_tasks::Tasks;
use tracing::warn;

use crate::tail::Tail;

/// How often it is looked for more. Workers write once a second.
const PERIOD: Duration = Duration::from_millis(250);

/// The two logs.
#[derive(Clone, Debug)]
pub(crate) struct AccessLog(Arc<Mutex<Tails>>);

#[derive(Debug)]
struct Tails {
    output: Tail,
    errors: Tail,
}

impl AccessLog {
    /// Begins them, or goes on where a controller before us has ended.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let (output, errors) = (
            Tail::open(folder.join("access.out"))?,
            Tail::open(folder.join("access.err"))?,
        );
        Ok(AccessLog(Arc::new(Mutex::new(Tails { output, errors }))))
    }

    /// Where nginx is to write.
    pub(crate) fn files(&self) -> Files {
        let tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Files {
            output: tails.output.path().to_owned(),
            errors: tails.errors.path().to_owned(),
        }
    }

    /// Passes lines on until the process ends, on a thread of its own: whoever reads them may be slow.
    pub(crate) fn follow(&self, tasks: &Tasks) -> anyhow::Result<()> {
        let log = self.clone();
        tasks.spawn_thread("access log", move || {
            loop {
                std::thread::sleep(PERIOD);
                log.pass_on();
            }
        })
    }

    /// Passes on what is there. When nginx has ended, that is all there is.
    pub(crate) fn pass_on(&self) {
        let mut tails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Tails { output, errors } = &mut *tails;
        let passed = copy(output, &mut io::stdout()).and_then(|()| copy(errors, &mut io::stderr()));
        if let Err(error) = passed {
            warn!("lines of the access log are lost: {error}");
        }
    }
}

fn copy(tail: &mut Tail, to: &mut impl Write) -> io::Result<()> {
    loop {
        let lines = tail.next()?;
        if lines.is_empty() {
            return to.flush();
        }
        to.write_all(&lines)?;
    }
}
