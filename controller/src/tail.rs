//! A file that others write lines into, some at a time, read on and on.
//!
//! A file never makes who writes wait, as a pipe or a socket that is full would, and loses nothing as a datagram would. Nor
//! does it break when the reader dies: the next one reads on, because what has been read is given back to the disk while
//! the file grows on (`FALLOC_FL_PUNCH_HOLE`), so nobody has to agree on a moment at which it begins anew.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

use crate::private;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;
/// A disk takes back whole blocks of its file system, which are as large as this or a part of it.
const BLOCK: u64 = 64 << 10;

/// Such a file.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    file: File,
    /// Up to here it has been read, and the disk has it back.
    read: u64,
}

impl Tail {
    /// Begins an empty one, or goes on where a reader before this one has ended.
    pub(crate) fn open(path: PathBuf) -> anyhow::Result<Self> {
        let describe = || path.display().to_string();
        let mut options = private::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).with_context(describe)?;
        let read = match seek(&file, SeekFrom::Data(0)) {
            Ok(first) => first,
            // All of it is a hole.
            Err(Errno::NXIO) => file.metadata().with_context(describe)?.len(),
            Err(error) => return Err(error).with_context(describe),
        };
        Ok(Tail { path, file, read })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whole lines that were not read yet, with their ends, or nothing.
    pub(crate) fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; PIECE];
        let count = self.file.read_at(&mut bytes, self.read)?;
        bytes.truncate(count);
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            // What is longer is no line of ours.
            if count == PIECE {
                self.forget(PIECE)?;
            }
            return Ok(Vec::new());
        };
        self.forget(end + 1)?;
        bytes.truncate(end + 1);
        // A block that is given back in part is zeros up to there.
        let begin = bytes
            .iter()
            .position(|byte| *byte != 0)
            .unwrap_or(bytes.len());
        bytes.drain(..begin);
        Ok(bytes)
    }

    fn forget(&mut self, count: usize) -> io::Result<()> {
        let count = count as u64;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // With what was left of the block in which this begins.
        let first = self.read - self.read % BLOCK;
        if fallocate(&self.file, flags, first, self.read + count - first).is_ok() {
            self.read += count;
        } else {
            // Not every file system can: what comes in just now is lost.
            self.file.set_len(0)?;
            self.read = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn read_all(tail: &mut Tail) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let some = tail.next().unwrap();
            if some.is_empty() {
                return all;
            }
            all.extend(some);
        }
    }

    #[test]
    fn the_disk_gets_back_what_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut tail = Tail::open(folder.path().join("log")).unwrap();
        let mut file = OpenOptions::new().append(true).open(tail.path()).unwrap();
        let line = format!("{}\n", "x".repeat(250));
        for count in (0..200).chain([10_000, 10_000]) {
            file.write_all(line.repeat(count).as_bytes()).unwrap();
            assert_eq!(read_all(&mut tail).len(), count * line.len());
        }
        let on_disk = file.metadata().unwrap().blocks() * 512;
        assert!(on_disk <= BLOCK, "{on_disk} bytes");
    }

    #[test]
    fn the_next_reader_goes_on_where_the_last_one_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = || folder.path().join("log");
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path())
            .unwrap();
        let mut write = |text: &str| file.write_all(text.as_bytes()).unwrap();
        let long = "x".repeat(10_000);
        for expected in ["a\n", &format!("{long}\nb\n"), "", "c\nd\n"] {
            write(expected);
            write("half");
            assert_eq!(
                String::from_utf8(read_all(&mut Tail::open(path()).unwrap())).unwrap(),
                expected
            );
            write(" a line\n");
            assert_eq!(read_all(&mut Tail::open(path()).unwrap()), b"half a line\n");
        }
    }
}
