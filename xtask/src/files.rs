//! Copies of files, with modes that do not depend on this machine.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes a file with the folders above it.
pub(crate) fn write(destination: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    destination.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(destination, text).with_context(|| destination.display().to_string())
}

/// Makes a file, unless it was made of these very files already: what it is of is said beside it.
pub(crate) fn make(
    file: &Path,
    sources: &[&Path],
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let of: Vec<String> = sources
        .iter()
        .map(|path| identity(path))
        .collect::<Result<_>>()?;
    let of = of.join("\n");
    let beside = file.with_extension("of");
    if file.is_file() && fs::read_to_string(&beside).is_ok_and(|before| before == of) {
        return Ok(());
    }
    file.parent().map_or(Ok(()), fs::create_dir_all)?;
    make()?;
    write(&beside, of)
}

/// Another file, or another version of it, has another.
fn identity(path: &Path) -> Result<String> {
    let data = path
        .metadata()
        .with_context(|| path.display().to_string())?;
    let (seconds, nanoseconds) = (data.mtime(), data.mtime_nsec());
    let path = path.display();
    Ok(format!("{path} {} {seconds}.{nanoseconds}", data.len()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work_dir::WorkDir;

    #[test]
    fn a_file_is_made_again_of_whatever_else_it_is_of() {
        let work_dir = WorkDir::new().unwrap();
        let folder = work_dir.create("made").unwrap();
        let [made, one, other] = ["made", "one", "other"].map(|name| folder.join(name));
        write(&one, "1").unwrap();
        write(&other, "1").unwrap();
        let is_made = |of: &Path| {
            let mut is_made = false;
            make(&made, &[of], || {
                is_made = true;
                write(&made, "")
            })
            .unwrap();
            is_made
        };
        assert_eq!([is_made(&one), is_made(&one)], [true, false]);
        assert_eq!(
            [is_made(&other), is_made(&one), is_made(&one)],
            [true, true, false]
        );
        write(&one, "12").unwrap();
        assert_eq!([is_made(&one), is_made(&one)], [true, false]);
        fs::remove_file(&made).unwrap();
        assert!(is_made(&one));
    }
}
