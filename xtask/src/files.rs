//! Files on their way into an archive.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::Step;
use crate::target;

/// A folder for what is thrown away; gone when dropped.
pub(crate) struct Workshop {
    folder: PathBuf,
}

impl Workshop {
    pub(crate) fn new() -> Result<Workshop> {
        let folder = target().join(format!("images/work-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(Workshop {
            folder: folder.canonicalize()?,
        })
    }

    /// A new folder in it.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        // The next build has a folder of its own.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes a file with the folders above it.
pub(crate) fn write(place: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(place, text).with_context(|| place.display().to_string())
}

/// Copies a file with the folders above it.
pub(crate) fn copy(file: &Path, place: &Path) -> Result<()> {
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    let copied = fs::copy(file, place).map(drop);
    copied.with_context(|| format!("copy {} to {}", file.display(), place.display()))
}

/// Copies a file that is no program, whatever its mode says: Cargo gives wasm that of one.
pub(crate) fn copy_data(file: &Path, place: &Path) -> Result<()> {
    copy(file, place)?;
    Ok(fs::set_permissions(place, Permissions::from_mode(0o644))?)
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

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn sha256(step: &mut Step, file: &Path) -> Result<String> {
    let (status, output) = step.capture(Command::new("sha256sum").arg("--binary").arg(file))?;
    let digest = output
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_start_matches('\\');
    if !status.success() || digest.len() != 64 {
        bail!("sha256sum {}: {output}", file.display());
    }
    Ok(digest.to_owned())
}

/// An archive of a folder's content. GNU tar writes no time, no owner and no order of its own.
pub(crate) fn pack(step: &mut Step, folder: &Path, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--format=gnu", "--sort=name", "--mtime=@0"]);
    tar.args([
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--no-acls",
        "--no-selinux",
        "--no-xattrs",
    ]);
    // The archive of a layer lies in the folder of the layout, not in that of the layer.
    tar.arg("--file")
        .arg(archive)
        .arg("--directory")
        .arg(folder);
    let mut names: Vec<_> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<Result<_>>()?;
    names.sort();
    step.run(tar.arg("--").args(names))
}
