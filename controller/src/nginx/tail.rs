//! A file that nginx's workers write lines into, some at a time, read on and on.
//!
//! A file never makes a worker wait, as a pipe or a socket that is full would, and loses nothing as a datagram would. What
//! has been read is given back to the disk while the file grows on (`FALLOC_FL_PUNCH_HOLE`), so nobody has to agree on a
//! moment at which it begins anew.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{FallocateFlags, fallocate};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// Bytes that have been read and are still on the disk, at the most.
const KEPT: u64 = 4 << 20;

/// Such a file.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    file: File,
    /// Up to here it has been read.
    read: u64,
    /// Up to here the disk has it back.
    freed: u64,
}

impl Tail {
    /// Begins an empty one.
    pub(super) fn begin(path: PathBuf) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        let file = options.open(&path).with_context(|| path.display().to_string())?;
        Ok(Tail { path, file, read: 0, freed: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whole lines that were not read yet, with their ends, or nothing.
    pub(super) fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; PIECE];
        let count = self.file.read_at(&mut bytes, self.read)?;
        bytes.truncate(count);
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            // What is longer is no line of ours.
            self.read += if count == PIECE { PIECE as u64 } else { 0 };
            return Ok(Vec::new());
        };
        self.read += end as u64 + 1;
        self.free()?;
        bytes.truncate(end + 1);
        Ok(bytes)
    }

    fn free(&mut self) -> io::Result<()> {
        if self.read - self.freed < KEPT {
            return Ok(());
        }
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, flags, self.freed, self.read - self.freed).is_err() {
            // Not every file system can: what comes in just now is lost.
            self.file.set_len(0)?;
            self.read = 0;
        }
        self.freed = self.read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_disk_gets_back_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut tail = Tail::begin(folder.path().join("log")).unwrap();
        let mut file = OpenOptions::new().append(true).open(tail.path()).unwrap();
        let line = format!("{}\n", "x".repeat(250));
        let mut count = 0;
        for _ in 0..10 {
            file.write_all(line.repeat(10_000).as_bytes()).unwrap();
            while let some @ 1.. = tail.next().unwrap().len() {
                count += some;
            }
        }
        assert_eq!(count, 100_000 * line.len());
        assert!(tail.freed > 0 && tail.read - tail.freed < KEPT);
    }
}
