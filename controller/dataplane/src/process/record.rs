//! Records of processes in the run directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, ensure};
use procfs::process::Stat;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::private_file;

/// Identity of a process, until the machine is restarted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) pid: i32,
    /// The kernel's boot id.
    pub(super) boot: String,
    /// Start time, in clock ticks after boot.
    pub(super) started: u64,
    /// `None`: a program with file capabilities, into which only root can look.
    pub(super) program: Option<Executable>,
    /// A digest of the settings that it was started with.
    pub(super) serves: Option<String>,
}

/// Device and inode of an executable, which stay when the file is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Executable(pub(super) u64, pub(super) u64);

impl Executable {
    pub(super) fn of_process(pid: Pid) -> Option<Self> {
        Executable::at(Path::new(&format!("/proc/{}/exe", pid.as_raw_nonzero())))
    }

    pub(super) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path)
            .map(|file| Executable(file.dev(), file.ino()))
            .ok()
    }
}

impl Record {
    /// Fails for a process that has exited, even if it has not been waited for.
    pub(super) fn of_process(process: Pid, serves: Option<String>) -> anyhow::Result<Self> {
        let pid = process.as_raw_nonzero().get();
        let stat = procfs::process::Process::new(pid)?.stat()?;
        ensure!(!has_exited(&stat), "it exited at once");
        Ok(Record {
            pid,
            boot: boot_id()?,
            started: stat.starttime,
            program: Executable::of_process(process),
            serves,
        })
    }

    pub(super) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&private_file::read(file).ok()?).ok()
    }

    /// Replaces the file atomically.
    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let staged = file.with_extension("new");
        let describe = || staged.display().to_string();
        private_file::write(&staged, serde_json::to_vec(self)?).with_context(describe)?;
        fs::rename(&staged, file).with_context(describe)
    }
}

/// True for a zombie, and for a process that is gone.
pub(super) fn has_exited(stat: &Stat) -> bool {
    matches!(stat.state, 'Z' | 'X')
}

pub(super) fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}
