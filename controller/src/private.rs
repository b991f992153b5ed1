//! Files of the run folder: for nobody else's eyes, and never written through a symlink.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// A file that is made is its owner's; one that is a symlink is not opened.
pub(crate) fn options() -> OpenOptions {
    let mut options = File::options();
    options
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Writes all of it, in the place of what was there.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?
        .write_all(bytes.as_ref())
}

/// Reads all of it.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    options().read(true).open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_its_owners_and_a_symlink_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let [own, link] = ["own", "link"].map(|name| folder.path().join(name));
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
