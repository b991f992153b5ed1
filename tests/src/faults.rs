//! Faults of a controller that was built with debug assertions (`controller/tasks/src/fault.rs`).

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use tempfile::TempDir;

use crate::sluice::Options;

/// The file from which a controller takes its faults.
pub struct Faults(TempDir);

impl Faults {
    /// None yet.
    pub fn new() -> Result<Faults> {
        Ok(Faults(TempDir::new()?))
    }

    /// A controller that takes them, and names its tasks in the log.
    pub fn for_controller(&self, options: Options) -> Options {
        let file = self.file().display().to_string();
        options
            .environment("SLUICE_FAULTS", &file)
            .environment("RUST_LOG", "info,sluice_tasks=debug")
    }

    /// Kills a task.
    pub fn kill(&self, task: &str) -> Result<()> {
        self.set(&format!("kill {task}"))
    }

    /// Holds whoever comes to a place, until [`Faults::clear`].
    pub fn hold(&self, place: &str) -> Result<()> {
        self.set(&format!("hold {place}"))
    }

    /// nginx refuses every configuration with this text in it.
    pub fn spoil(&self, text: &str) -> Result<()> {
        self.set(&format!("spoil {text}"))
    }

    /// Envoys refuse every cluster and every listener with this text in it.
    pub fn spoil_xds(&self, text: &str) -> Result<()> {
        self.set(&format!("spoil-xds {text}"))
    }

    /// Envoys refuse the certificate in this Secret.
    pub fn spoil_secret(&self, namespace: &str, name: &str) -> Result<()> {
        self.set(&format!("spoil-secret {namespace}/{name}"))
    }

    /// Lets everything go on.
    pub fn clear(&self) -> Result<()> {
        self.set("")
    }

    /// By a rename: the controller sees the one or the other.
    fn set(&self, line: &str) -> Result<()> {
        let staged = self.file().with_extension("new");
        fs::write(&staged, format!("{line}\n"))?;
        Ok(fs::rename(staged, self.file())?)
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("faults")
    }
}
