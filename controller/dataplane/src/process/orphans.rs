//! Processes that outlive the leader of their process group.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::time::timeout;
use tracing::warn;

use super::exit_of;
use super::record::{Executable, Record, boot_id, has_exited};

/// Time for a killed process to be gone; only one that waits for a disk needs it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The processes of a dead leader's group that run the same program.
#[derive(Debug)]
pub(crate) struct Orphans {
    pub(crate) leader: Pid,
    executable: Option<Executable>,
}

impl Orphans {
    pub(super) fn new(leader: Pid, executable: Option<Executable>) -> Self {
        Orphans { leader, executable }
    }

    /// The orphans of the recorded process, if that is known to be dead; a zombie is.
    pub(crate) fn of_dead(record_file: &Path) -> Option<Self> {
        let record = Record::read(record_file)
            .filter(|record| boot_id().is_ok_and(|boot| boot == record.boot))?;
        let now = procfs::process::Process::new(record.pid).and_then(|process| process.stat());
        // A process that got the id since then leads a group of its own.
        let is_dead = now.is_err()
            || now.is_ok_and(|now| now.starttime == record.started && has_exited(&now));
        let leader = is_dead.then(|| Pid::from_raw(record.pid))??;
        Some(Orphans::new(leader, record.program))
    }

    /// True if any are alive.
    pub(crate) fn any(&self) -> bool {
        self.alive().next().is_some()
    }

    /// Kills them, and no other process. Returns once they have closed their ports.
    pub(crate) async fn kill(&self) {
        let killed: Vec<OwnedFd> = self.alive().filter_map(|pid| self.kill_one(pid)).collect();
        let ended = async {
            for pidfd in killed {
                if let Ok(pidfd) = exit_of(pidfd) {
                    pidfd.readable().await.ok();
                }
            }
        };
        if timeout(EXIT_TIMEOUT, ended).await.is_err() {
            warn!("processes of {} do not exit although killed", self.leader);
        }
    }

    fn kill_one(&self, pid: i32) -> Option<OwnedFd> {
        let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // The id may have been reused: check again while the pidfd holds it.
        if !self.alive().any(|alive| alive == pid) {
            return None;
        }
        pidfd_send_signal(&pidfd, Signal::KILL).ok()?;
        Some(pidfd)
    }

    fn alive(&self) -> impl Iterator<Item = i32> {
        let leader = self.leader.as_raw_nonzero().get();
        let all = procfs::process::all_processes()
            .into_iter()
            .flatten()
            .flatten();
        let stats = all.filter_map(|process| process.stat().ok());
        let group = stats
            .filter(move |stat| stat.pgrp == leader && !has_exited(stat))
            .map(|stat| stat.pid);
        let runs_the_same = |pid: &i32| {
            let executable = Pid::from_raw(*pid).and_then(Executable::of_process);
            executable.is_some() && executable == self.executable
        };
        group.filter(runs_the_same)
    }
}
