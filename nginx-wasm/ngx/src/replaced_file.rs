//! A file that somebody replaces by a rename, so that it is never read half written.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file, and which one was read last.
#[derive(Debug, Default)]
pub struct ReplacedFile {
    path: PathBuf,
    version: Option<Version>,
}

/// Identity of a file: changes when the file is replaced.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    inode: u64,
    modified: (i64, i64),
    length: u64,
}

impl ReplacedFile {
    /// The file at this path, which was not read yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        ReplacedFile {
            path,
            version: None,
        }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has the next call read the file, whether it is another one or not.
    pub fn forget(&mut self) {
        self.version = None;
    }

    /// Its content, if it is another one than was read last.
    ///
    /// # Errors
    ///
    /// It cannot be read; the next call tries again.
    pub fn read_if_replaced(&mut self) -> io::Result<Option<Vec<u8>>> {
        let version = Version::from_metadata(&std::fs::metadata(&self.path)?);
        if self.version.as_ref() == Some(&version) {
            return Ok(None);
        }
        // Version and content are of the open file, even if its name is replaced meanwhile.
        let mut file = File::open(&self.path)?;
        let (version, mut content) = (Version::from_metadata(&file.metadata()?), Vec::new());
        file.read_to_end(&mut content)?;
        self.version = Some(version);
        Ok(Some(content))
    }
}

impl Version {
    fn from_metadata(file: &Metadata) -> Self {
        Version {
            inode: file.ino(),
            modified: (file.mtime(), file.mtime_nsec()),
            length: file.len(),
        }
    }
}
