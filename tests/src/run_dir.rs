//! The run folder of a controller.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tempfile::TempDir;

/// A folder that goes with whoever has made it.
pub(crate) enum RunDir {
    Own(TempDir),
    Given(PathBuf),
}

impl RunDir {
    /// This one, or a new one.
    pub(crate) fn new(given: Option<&Path>) -> Result<RunDir> {
        let own = || {
            Ok(RunDir::Own(
                tempfile::Builder::new().prefix("sluice-run-").tempdir()?,
            ))
        };
        given.map_or_else(own, |path| Ok(RunDir::Given(path.to_owned())))
    }

    /// The path of the folder.
    pub(crate) fn path(&self) -> &Path {
        match self {
            RunDir::Own(own) => own.path(),
            RunDir::Given(path) => path,
        }
    }
}
