//! Files of the run directory: readable by their owner only, and never opened through a symlink.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Options that create files with mode 0600 and refuse symlinks.
pub(crate) fn options() -> OpenOptions {
    let mut options = File::options();
    options
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Writes a file, in place of what was there.
///
/// # Errors
///
/// The file cannot be opened or written, or is a symlink.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?
        .write_all(bytes.as_ref())
}

/// Writes a file of a directory by way of `.NAME`, so that readers never see half of it.
///
/// # Errors
///
/// As [`write()`]; or the file cannot be renamed.
pub fn replace(directory: &Path, name: &str, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let staged = directory.join(format!(".{name}"));
    write(&staged, bytes)?;
    fs::rename(&staged, directory.join(name))
}

/// Reads a whole file.
///
/// # Errors
///
/// The file cannot be opened or read, or is a symlink.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    options().read(true).open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Names of the entries of a directory, as far as it can be read.
pub(crate) fn names(directory: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn files_are_private_and_symlinks_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let [own, link] = ["own", "link"].map(|name| directory.path().join(name));
        write(&own, "ours").unwrap();
        assert_eq!(
            fs::metadata(&own).unwrap().permissions().mode() & 0o777,
            0o600
        );
        symlink(&own, &link).unwrap();
        assert!(write(&link, "theirs").is_err() && read(&link).is_err());
        assert_eq!(read(&own).unwrap(), b"ours");
    }
}
