//! The folder for sockets and the bootstrap. It is one controller's: two would take the data plane from each other. And it is
//! ours alone: whoever could put a file there could name a process that we would end, or be the controller of our data plane.

mod ownership;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::private;

/// The file that whoever has the folder has locked. The kernel unlocks it, however its owner ends.
const LOCK: &str = "lock";

/// The operator's, which lasts, or a temporary one that goes when we do.
pub(crate) struct RunDir {
    pub(crate) path: PathBuf,
    _lock: File,
    _temporary: Option<tempfile::TempDir>,
}

impl RunDir {
    /// Takes the folder.
    pub(crate) fn take(given: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = given else {
            let temporary = tempfile::Builder::new()
                .prefix("sluice-")
                .tempdir()
                .context("cannot make a run folder")?;
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

/// Writes our process id into it, for whoever finds it locked.
fn lock(folder: &Path) -> anyhow::Result<File> {
    let mut options = private::options();
    let mut file = options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join(LOCK))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut owner = String::new();
            file.read_to_string(&mut owner).ok();
            bail!(
                "process {} uses this folder; end it, or choose another folder",
                owner.trim()
            );
        }
        Err(error) => return Err(error.into()),
    }
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}
