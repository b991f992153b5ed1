//! Copies of files, with modes that do not depend on this machine.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes a file with the folders above it.
pub(crate) fn write(destination: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    destination.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(destination, text).with_context(|| destination.display().to_string())
}

/// Copies a file with the folders above it.
pub(crate) fn copy(file: &Path, destination: &Path) -> Result<()> {
    destination.parent().map_or(Ok(()), fs::create_dir_all)?;
    let copied = fs::copy(file, destination).map(drop);
    copied.with_context(|| format!("copy {} to {}", file.display(), destination.display()))
}

/// Copies a file that is no program, whatever its mode says: Cargo gives wasm that of one.
pub(crate) fn copy_data(file: &Path, destination: &Path) -> Result<()> {
    copy(file, destination)?;
    Ok(fs::set_permissions(
        destination,
        Permissions::from_mode(0o644),
    )?)
}

/// Modes that depend neither on the umask nor on a package: nothing is written to, and no file lends its owner's rights.
pub(crate) fn set_modes(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        if metadata.is_dir() {
            set_modes(&path)?;
        } else if metadata.is_file() {
            let mode = if metadata.permissions().mode() & 0o111 == 0 {
                0o644
            } else {
                0o755
            };
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
        } else if !metadata.is_symlink() {
            bail!("{}: neither a file nor a folder", path.display());
        }
    }
    Ok(fs::set_permissions(folder, Permissions::from_mode(0o755))?)
}
