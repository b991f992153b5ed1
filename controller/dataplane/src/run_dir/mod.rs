//! The run directory: sockets, process records and the bootstrap configuration.
//!
//! One controller uses it at a time; two would take the data plane from each other. Only its owner can write to it: a forged
//! record could make us kill a process, and a forged socket could impersonate the controller.

mod ownership;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::private_file;

/// Locked by the controller that uses the directory. The kernel releases the lock however that process exits.
const LOCK: &str = "lock";

/// The directory of `--run-dir`, or a temporary one that is removed on drop.
#[derive(Debug)]
pub struct RunDir {
    /// The absolute path.
    pub path: PathBuf,
    _lock: File,
    _temporary: Option<tempfile::TempDir>,
}

impl RunDir {
    /// Creates, checks and locks the directory.
    ///
    /// # Errors
    ///
    /// Another controller uses it, others can write to it, or it contains files that are not ours.
    pub fn take(given: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = given else {
            let temporary = tempfile::Builder::new()
                .prefix("sluice-")
                .tempdir()
                .context("cannot create a run directory")?;
            let path = temporary.path().to_owned();
            return Ok(RunDir {
                _lock: lock(&path)?,
                path,
                _temporary: Some(temporary),
            });
        };
        let describe = || format!("--run-dir {}", path.display());
        let path = ownership::claim(path).with_context(describe)?;
        Ok(RunDir {
            _lock: lock(&path).with_context(describe)?,
            path,
            _temporary: None,
        })
    }
}

/// Takes the lock and writes our process id into it, for the error message of the next controller.
fn lock(directory: &Path) -> anyhow::Result<File> {
    let mut options = private_file::options();
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(directory.join(LOCK))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut owner = String::new();
            file.read_to_string(&mut owner).ok();
            bail!(
                "process {} uses this directory; stop it, or choose another directory",
                owner.trim()
            );
        }
        Err(error) => return Err(error.into()),
    }
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}
