//! A process of the data plane: our child, or one that a controller before us has started and did not live to end.
//!
//! A file in the run folder says which process it is. An id alone does not: it may be somebody else's by now. The moment
//! at which a process was started makes it unique until the machine is started again. What is told to end is, besides, of our
//! user, runs the file that was written down, and was told of the run folder when it was started.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Stat};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, geteuid, kill_process, pidfd_open, pidfd_send_signal,
};
use serde::{Deserialize, Serialize};
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};

use crate::private;

/// A process that runs, or has just ended.
#[derive(Debug)]
pub(crate) struct Process {
    pid: Pid,
    held: Held,
    file: PathBuf,
    record: Record,
}

#[derive(Debug)]
enum Held {
    Child(Child),
    /// Becomes readable when the process ends.
    Adopted(AsyncFd<OwnedFd>),
}

/// What is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    pid: i32,
    /// What the kernel calls the time since the machine was started.
    boot: String,
    /// Ticks from there.
    started: u64,
    /// `None`: a program with capabilities of its own, into which only root can look.
    program: Option<Program>,
    /// What it serves, in words of whoever has started it.
    serves: Option<String>,
}

/// The file that a process runs, whatever it is called by now: its device and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Program(u64, u64);

/// Processes of the group of one that has ended, as far as they run the same program.
#[derive(Debug)]
pub(crate) struct Orphans {
    pub(crate) leader: Pid,
    program: Option<Program>,
}

impl Process {
    /// Starts a program as our child, and writes down that it runs, and what it serves when that is certain.
    pub(crate) fn start(
        mut command: Command,
        file: &Path,
        serves: Option<String>,
    ) -> anyhow::Result<Self> {
        let program = command.as_std().get_program().to_owned();
        let cannot = || format!("cannot start {}", Path::new(&program).display());
        let child = command.kill_on_drop(true).spawn().with_context(cannot)?;
        let pid = child
            .id()
            .and_then(|pid| Pid::from_raw(pid.cast_signed()))
            .with_context(cannot)?;
        let record = Record::of(pid, serves).with_context(cannot)?;
        record.write(file)?;
        Ok(Process {
            pid,
            held: Held::Child(child),
            file: file.to_owned(),
            record,
        })
    }

    /// The process that was written down there, if it still runs.
    pub(crate) fn find(file: &Path) -> Option<Self> {
        let record = Record::read(file)?;
        let pid = Pid::from_raw(record.pid)?;
        let held = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // Whoever is it now was it when it was opened: nobody gets his id back.
        if Record::of(pid, record.serves.clone()).ok()? != record || !is_ours(pid, file.parent()?) {
            return None;
        }
        #[expect(
            deprecated,
            reason = "its replacement is unsafe, for types that are not their descriptor's owner; this one is"
        )]
        let held = AsyncFd::new(held).ok()?;
        let held = Held::Adopted(held);
        Some(Process {
            pid,
            held,
            file: file.to_owned(),
            record,
        })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// What it serves; `None`: that is not certain.
    pub(crate) fn serves(&self) -> Option<&str> {
        self.record.serves.as_deref()
    }

    /// Writes down what it serves from now on.
    pub(crate) fn note(&mut self, serves: Option<String>) -> anyhow::Result<()> {
        self.record.serves = serves;
        self.record.write(&self.file)
    }

    /// Writes down anew which program it runs: a script may have made way for another one since it was started.
    pub(crate) fn renew(&mut self) -> anyhow::Result<()> {
        let program = Program::of(self.pid);
        if program.is_some() && program != self.record.program {
            self.record.program = program;
            self.record.write(&self.file)?;
        }
        Ok(())
    }

    /// Those that it leaves when it has ended.
    pub(crate) fn orphans(&self) -> Orphans {
        Orphans {
            leader: self.pid,
            program: self.record.program,
        }
    }

    /// Writes it down elsewhere: another one takes its place.
    pub(crate) fn move_to(&mut self, file: &Path) -> anyhow::Result<()> {
        fs::rename(&self.file, file).with_context(|| file.display().to_string())?;
        file.clone_into(&mut self.file);
        Ok(())
    }

    /// Whether it has not ended yet.
    pub(crate) fn is_running(&self) -> bool {
        Record::of(self.pid, self.record.serves.clone()).is_ok_and(|now| now == self.record)
    }

    /// Whether it runs this very file, not one that was there before it.
    pub(crate) fn is_of(&self, program: &Path) -> bool {
        let running = Program::of(self.pid);
        running.is_some() && running == Program::at(program)
    }

    /// Waits until it has ended, and says how.
    pub(crate) async fn ended(&mut self) -> String {
        match &mut self.held {
            Held::Child(child) => child
                .wait()
                .await
                .map_or_else(|error| error.to_string(), |status| status.to_string()),
            Held::Adopted(held) => match held.readable().await {
                Ok(_) => "exit status unknown: another controller has started it".to_owned(),
                Err(error) => error.to_string(),
            },
        }
    }

    /// Sends it a signal, and nobody else. One that has ended needs none.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        let sent = match &self.held {
            Held::Child(child) if child.id().is_none() => Ok(()),
            // Nobody else has its id until we have waited for it.
            Held::Child(_) => kill_process(self.pid, signal),
            Held::Adopted(held) => pidfd_send_signal(held.get_ref(), signal),
        };
        match sent {
            Err(Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }
}

/// Orphans of the recorded process, when that is known to be dead; a zombie is.
pub(crate) fn dead(file: &Path) -> Option<Orphans> {
    let record =
        Record::read(file).filter(|record| boot().is_ok_and(|boot| boot == record.boot))?;
    let now = procfs::process::Process::new(record.pid).and_then(|process| process.stat());
    // Somebody else who has its id leads a group of his own.
    let is_dead =
        now.is_err() || now.is_ok_and(|now| now.starttime == record.started && is_over(&now));
    let leader = is_dead.then(|| Pid::from_raw(record.pid))??;
    Some(Orphans {
        leader,
        program: record.program,
    })
}

impl Orphans {
    /// Some live.
    pub(crate) fn any(&self) -> bool {
        self.living().next().is_some()
    }

    /// Kills them, and nobody else.
    pub(crate) fn end(&self) {
        for pid in self.living().filter_map(Pid::from_raw) {
            // Whoever has this id now is looked at again while he is held.
            if let Ok(held) = pidfd_open(pid, PidfdFlags::empty())
                && self
                    .living()
                    .any(|living| living == pid.as_raw_nonzero().get())
            {
                pidfd_send_signal(held, Signal::KILL).ok();
            }
        }
    }

    fn living(&self) -> impl Iterator<Item = i32> {
        let leader = self.leader.as_raw_nonzero().get();
        let all = procfs::process::all_processes()
            .into_iter()
            .flatten()
            .flatten();
        let stats = all.filter_map(|process| process.stat().ok());
        let of_group = stats
            .filter(move |stat| stat.pgrp == leader && !is_over(stat))
            .map(|stat| stat.pid);
        let is_same = |pid: &i32| {
            let program = Pid::from_raw(*pid).and_then(Program::of);
            program.is_some() && program == self.program
        };
        of_group.filter(is_same)
    }
}

/// Runs as our user and has this folder in its arguments.
fn is_ours(pid: Pid, folder: &Path) -> bool {
    let look = || {
        let process = procfs::process::Process::new(pid.as_raw_nonzero().get())?;
        Ok::<_, procfs::ProcError>((process.status()?.euid, process.cmdline()?))
    };
    let Ok((user, arguments)) = look() else {
        return false;
    };
    let Some(folder) = folder.to_str() else {
        return false;
    };
    user == geteuid().as_raw() && arguments.iter().any(|argument| names(argument, folder))
}

/// The text has this path, and not only one that begins like it. nginx writes all of its arguments as one.
fn names(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let end = text[at + folder.len()..].chars().next();
        end.is_none_or(|next| next == '/' || next.is_whitespace())
    })
}

/// Who listens on this port, by name and id, as far as we may know.
pub(crate) fn listener(port: u16) -> Option<String> {
    let all = procfs::process::all_processes()
        .into_iter()
        .flatten()
        .flatten();
    let mut listening =
        all.filter(|process| Pid::from_raw(process.pid).is_some_and(|pid| listens(pid, port)));
    let stat = listening.next()?.stat().ok()?;
    Some(format!("{} (process {})", stat.comm, stat.pid))
}

/// Whether it listens on this port.
pub(crate) fn listens(process: Pid, port: u16) -> bool {
    let listening =
        |entry: &TcpNetEntry| entry.state == TcpState::Listen && entry.local_address.port() == port;
    let entries = [procfs::net::tcp(), procfs::net::tcp6()]
        .into_iter()
        .flatten()
        .flatten();
    let sockets: BTreeSet<u64> = entries.filter(listening).map(|entry| entry.inode).collect();
    let files = procfs::process::Process::new(process.as_raw_nonzero().get())
        .and_then(|process| process.fd());
    let mut targets = files
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.target);
    targets.any(|target| matches!(target, FDTarget::Socket(inode) if sockets.contains(&inode)))
}

impl Program {
    fn of(pid: Pid) -> Option<Self> {
        Program::at(Path::new(&format!("/proc/{}/exe", pid.as_raw_nonzero())))
    }

    fn at(path: &Path) -> Option<Self> {
        fs::metadata(path)
            .map(|file| Program(file.dev(), file.ino()))
            .ok()
    }
}

impl Record {
    /// An error also when it has ended and nobody has waited for it.
    fn of(process: Pid, serves: Option<String>) -> anyhow::Result<Self> {
        let pid = process.as_raw_nonzero().get();
        let stat = procfs::process::Process::new(pid)?.stat()?;
        ensure!(!is_over(&stat), "it ended at once");
        Ok(Record {
            pid,
            boot: boot()?,
            started: stat.starttime,
            program: Program::of(process),
            serves,
        })
    }

    fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&private::read(file).ok()?).ok()
    }

    /// Never half.
    fn write(&self, file: &Path) -> anyhow::Result<()> {
        let staged = file.with_extension("new");
        let describe = || staged.display().to_string();
        private::write(&staged, serde_json::to_vec(self)?).with_context(describe)?;
        fs::rename(&staged, file).with_context(describe)
    }
}

/// It has ended, and its parent has not asked how.
fn is_over(stat: &Stat) -> bool {
    matches!(stat.state, 'Z' | 'X')
}

fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

#[cfg(test)]
mod tests;
