//! A data plane's process: a child of ours, or one that an earlier controller started and left running.
//!
//! A record in the run directory identifies the process. Its id alone does not, because ids are reused; with the boot id and the
//! start time it is unique. A process is only signalled if it also belongs to our user, runs the recorded program, and has the
//! run directory in its arguments.

mod orphans;
mod ports;
mod record;
mod steering;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, geteuid, kill_process, pidfd_open, pidfd_send_signal,
};
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};

pub(crate) use orphans::Orphans;
pub use ports::{listener, listens, overlap};
use record::{Executable, Record};
pub(crate) use steering::Steering;

/// A process that runs, or has just exited.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    origin: ProcessHandle,
    record_file: PathBuf,
    record: Record,
}

#[derive(Debug)]
enum ProcessHandle {
    Child(Child),
    /// A pidfd: readable when the process exits.
    Adopted(AsyncFd<OwnedFd>),
}

impl Process {
    /// Starts a child and records it, with the settings that it serves if those are certain.
    pub(crate) fn start(
        mut command: Command,
        record_file: &Path,
        serves: Option<String>,
    ) -> anyhow::Result<Self> {
        let program = command.as_std().get_program().to_owned();
        let describe = || format!("cannot start {}", Path::new(&program).display());
        let child = command.kill_on_drop(true).spawn().with_context(describe)?;
        let pid = child
            .id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()))
            .with_context(describe)?;
        let record = Record::of_process(pid, serves).with_context(describe)?;
        record.write(record_file)?;
        Ok(Process {
            pid,
            origin: ProcessHandle::Child(child),
            record_file: record_file.to_owned(),
            record,
        })
    }

    /// The recorded process, if it still runs.
    pub(crate) fn find(record_file: &Path) -> Option<Self> {
        let record = Record::read(record_file)?;
        let pid = Pid::from_raw(record.pid)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // The pidfd keeps the id from being reused, so a process that matches now matched when it was opened.
        if Record::of_process(pid, record.serves.clone()).ok()? != record
            || !is_ours(pid, record_file.parent()?)
        {
            return None;
        }
        Some(Process {
            pid,
            origin: ProcessHandle::Adopted(exit_of(pidfd).ok()?),
            record_file: record_file.to_owned(),
            record,
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// A digest of the settings that it serves; `None` if those are not certain.
    pub(crate) fn serves(&self) -> Option<&str> {
        self.record.serves.as_deref()
    }

    /// Records the settings that it serves from now on.
    pub(crate) fn set_serves(&mut self, serves: Option<String>) -> anyhow::Result<()> {
        self.record.serves = serves;
        self.record.write(&self.record_file)
    }

    /// Records its executable again: a script may have replaced itself (`exec`) since it was started.
    pub(crate) fn refresh_program(&mut self) -> anyhow::Result<()> {
        let executable = Executable::of_process(self.pid);
        if executable.is_some() && executable != self.record.program {
            self.record.program = executable;
            self.record.write(&self.record_file)?;
        }
        Ok(())
    }

    /// The processes that it leaves behind when it exits.
    pub(crate) fn orphans(&self) -> Orphans {
        Orphans::new(self.pid, self.record.program)
    }

    /// Moves its record: another process takes its place.
    pub(crate) fn move_record(&mut self, record_file: &Path) -> anyhow::Result<()> {
        fs::rename(&self.record_file, record_file)
            .with_context(|| record_file.display().to_string())?;
        record_file.clone_into(&mut self.record_file);
        Ok(())
    }

    pub(crate) fn is_running(&self) -> bool {
        Record::of_process(self.pid, self.record.serves.clone()).is_ok_and(|now| now == self.record)
    }

    /// True if it runs this very file, not an earlier one of the same name.
    pub(crate) fn runs(&self, program: &Path) -> bool {
        let running = Executable::of_process(self.pid);
        running.is_some() && running == Executable::at(program)
    }

    /// Waits for its exit. Returns the exit status as text.
    pub(crate) async fn ended(&mut self) -> String {
        match &mut self.origin {
            ProcessHandle::Child(child) => child
                .wait()
                .await
                .map_or_else(|error| error.to_string(), |status| status.to_string()),
            ProcessHandle::Adopted(pidfd) => match pidfd.readable().await {
                Ok(_) => "exit status unknown: started by another controller".to_owned(),
                Err(error) => error.to_string(),
            },
        }
    }

    /// Sends a signal to this process and no other; succeeds if it has exited.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let sent = match &self.origin {
            ProcessHandle::Child(child) if child.id().is_none() => Ok(()),
            // The id of a child is not reused before we have waited for it.
            ProcessHandle::Child(_) => kill_process(self.pid, signal),
            ProcessHandle::Adopted(pidfd) => pidfd_send_signal(pidfd.get_ref(), signal),
        };
        match sent {
            Err(Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

/// A pidfd that becomes readable when its process exits.
fn exit_of(pidfd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    #[expect(
        deprecated,
        reason = "its replacement is unsafe, for types that are not their descriptor's owner; this one is"
    )]
    AsyncFd::new(pidfd)
}

/// True if a process belongs to our user and has this directory in its arguments.
fn is_ours(pid: Pid, directory: &Path) -> bool {
    let inspect = || {
        let process = procfs::process::Process::new(pid.as_raw_nonzero().get())?;
        Ok::<_, procfs::ProcError>((process.status()?.euid, process.cmdline()?))
    };
    let Ok((user, arguments)) = inspect() else {
        return false;
    };
    let Some(directory) = directory.to_str() else {
        return false;
    };
    user == geteuid().as_raw()
        && arguments
            .iter()
            .any(|argument| contains_path(argument, directory))
}

/// True if a text contains this path, not just one that it is a prefix of. nginx rewrites its arguments as one text.
fn contains_path(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let end = text[at + path.len()..].chars().next();
        end.is_none_or(|next| next == '/' || next.is_whitespace())
    })
}
