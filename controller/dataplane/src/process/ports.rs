//! Processes that listen on a TCP port.

use std::collections::BTreeSet;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::FDTarget;
use rustix::process::Pid;

/// Name and id of the process that listens on a port, as far as we may look.
#[must_use]
pub fn listener(port: u16) -> Option<String> {
    let all = procfs::process::all_processes()
        .into_iter()
        .flatten()
        .flatten();
    let mut listening =
        all.filter(|process| Pid::from_raw(process.pid).is_some_and(|pid| listens(pid, port)));
    let stat = listening.next()?.stat().ok()?;
    Some(format!("{} (process {})", stat.comm, stat.pid))
}

/// True if a process listens on a port, as far as we may look.
#[must_use]
pub fn listens(process: Pid, port: u16) -> bool {
    let sockets = sockets(process).unwrap_or_default();
    listening().any(|entry| entry.local_address.port() == port && sockets.contains(&entry.inode))
}

/// All sockets that listen.
pub(super) fn listening() -> impl Iterator<Item = TcpNetEntry> {
    let entries = [procfs::net::tcp(), procfs::net::tcp6()];
    let entries = entries.into_iter().flatten().flatten();
    entries.filter(|entry| entry.state == TcpState::Listen)
}

/// The sockets of a process, by inode.
pub(super) fn sockets(process: Pid) -> anyhow::Result<BTreeSet<u64>> {
    let socket = |target| match target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    };
    let files = procfs::process::Process::new(process.as_raw_nonzero().get())?.fd()?;
    Ok(files
        .flatten()
        .filter_map(|file| socket(file.target))
        .collect())
}
