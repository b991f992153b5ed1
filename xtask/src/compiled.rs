//! Compiled dependencies, in a second folder too: the same program with another feature stands on the same ones.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

use crate::target;

/// In the folder of a profile. Names of files in them say features and flags, so that cargo takes those that fit and compiles the rest.
const PARTS: [&str; 3] = ["deps", "build", ".fingerprint"];

/// Lends the dependencies in `target` to a folder that is built into for the first time. `profile`: `filter`, or
/// `wasm32-wasip1/filter`.
pub(crate) fn lend(folder: &Path, profile: &str) -> Result<()> {
    let to = folder.join(profile);
    if to.exists() {
        return Ok(());
    }
    for part in PARTS {
        let from = target().join(profile).join(part);
        if from.exists() {
            link(&from, &to.join(part))
                .with_context(|| format!("lend {} to {}", from.display(), folder.display()))?;
        }
    }
    Ok(())
}

/// Files are linked, not copied. Crates of the workspace are left out: the filter has the same file name whatever its features, and the
/// linker would write over the other one.
fn link(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().contains("sluice") {
            continue;
        }
        let to = to.join(&name);
        if entry.file_type()?.is_dir() {
            link(&entry.path(), &to)?;
        } else {
            let linked = fs::hard_link(entry.path(), &to);
            // Lent by a run that was interrupted.
            linked.or_else(|error| match error.kind() {
                ErrorKind::AlreadyExists => Ok(()),
                _ => Err(error),
            })?;
        }
    }
    Ok(())
}
