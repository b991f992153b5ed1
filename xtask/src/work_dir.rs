//! A directory for files on their way into an archive.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::target;

/// A temporary directory; removed when dropped.
pub(crate) struct WorkDir {
    path: PathBuf,
}

impl WorkDir {
    pub(crate) fn new() -> Result<WorkDir> {
        let path = target().join(format!("images/work-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(WorkDir {
            path: path.canonicalize()?,
        })
    }

    /// A new directory in it.
    pub(crate) fn create(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir_all(&path).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // The next build has a directory of its own.
        let _ = fs::remove_dir_all(&self.path);
    }
}
