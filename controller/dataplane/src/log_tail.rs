//! A log file that is read while other processes append to it.
//!
//! Unlike a pipe or a socket, a file never blocks its writers when it is full; unlike a datagram socket, it loses nothing. It
//! also survives its reader: what has been read is given back to the disk while the file keeps growing
//! (`FALLOC_FL_PUNCH_HOLE`), so the next reader continues there, without a protocol for rotation.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

use crate::private_file;

/// Bytes per read.
const CHUNK: usize = 1 << 20;
/// Disks free whole blocks of their file system; its block size divides this.
const BLOCK: u64 = 64 << 10;

/// The reader of a log file.
#[derive(Debug)]
pub(crate) struct LogTail {
    path: PathBuf,
    file: File,
    /// Offset up to which the file has been read and freed.
    read: u64,
}

impl LogTail {
    /// Creates the file, or continues where an earlier reader stopped.
    pub(crate) fn open(path: PathBuf) -> anyhow::Result<Self> {
        let describe = || path.display().to_string();
        let mut options = private_file::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).with_context(describe)?;
        let read = match seek(&file, SeekFrom::Data(0)) {
            Ok(first) => first,
            // The whole file is a hole.
            Err(Errno::NXIO) => file.metadata().with_context(describe)?.len(),
            Err(error) => return Err(error).with_context(describe),
        };
        Ok(LogTail { path, file, read })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whole unread lines with their line ends; empty when there are none.
    pub(crate) fn next(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; CHUNK];
        let count = self.file.read_at(&mut bytes, self.read)?;
        bytes.truncate(count);
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            // A line this long is not one of ours.
            if count == CHUNK {
                self.free(CHUNK)?;
            }
            return Ok(Vec::new());
        };
        self.free(end + 1)?;
        bytes.truncate(end + 1);
        // A block that was freed in part reads as zeros up to there.
        let begin = bytes
            .iter()
            .position(|byte| *byte != 0)
            .unwrap_or(bytes.len());
        bytes.drain(..begin);
        Ok(bytes)
    }

    fn free(&mut self, count: usize) -> io::Result<()> {
        let count = count as u64;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Includes the rest of the block in which this begins.
        let first = self.read - self.read % BLOCK;
        if fallocate(&self.file, flags, first, self.read + count - first).is_ok() {
            self.read += count;
        } else {
            // Not every file system supports holes: what is written right now is lost.
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

    fn read_all(tail: &mut LogTail) -> Vec<u8> {
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
    fn read_blocks_are_freed() {
        let directory = tempfile::tempdir().unwrap();
        let mut tail = LogTail::open(directory.path().join("log")).unwrap();
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
    fn next_reader_continues_where_the_last_one_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let path = || directory.path().join("log");
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
                String::from_utf8(read_all(&mut LogTail::open(path()).unwrap())).unwrap(),
                expected
            );
            write(" a line\n");
            assert_eq!(
                read_all(&mut LogTail::open(path()).unwrap()),
                b"half a line\n"
            );
        }
    }
}
