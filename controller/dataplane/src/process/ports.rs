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

/// True if a process listens on a port.
#[must_use]
pub fn listens(process: Pid, port: u16) -> bool {
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
