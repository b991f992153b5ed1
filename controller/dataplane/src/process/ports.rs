//! Processes that listen on a TCP port.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process};
use rustix::process::Pid;

/// Name and id of the process that listens where nobody else can listen then on an address, as far as we may look.
#[must_use]
pub fn listener(address: SocketAddr) -> Option<String> {
    // A port may have listeners on other addresses, which are in nobody's way.
    let mut sockets: Vec<TcpNetEntry> = listening()
        .filter(|entry| overlap(entry.local_address, address))
        .collect();
    // A socket on `::` may be one of IPv6 alone, which does not say so here: the others are more likely.
    sockets.sort_by_key(|entry| distance(entry.local_address.ip(), address.ip()));
    let found = sockets.into_iter().find_map(|entry| owner(entry.inode))?;
    let stat = found.stat().ok()?;
    Some(format!("{} (process {})", stat.comm, stat.pid))
}

/// True if a process listens where nobody else can listen then on an address, as far as we may look.
#[must_use]
pub fn listens(process: Pid, address: SocketAddr) -> bool {
    let sockets = sockets(process).unwrap_or_default();
    listening().any(|entry| overlap(entry.local_address, address) && sockets.contains(&entry.inode))
}

/// True if one of them has an address of the other.
#[must_use]
pub fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let has = |ip: IpAddr, other: IpAddr| match ip {
        IpAddr::V4(ip) => ip.is_unspecified() && other.is_ipv4(),
        // Linux takes the clients of both there.
        IpAddr::V6(ip) => ip.is_unspecified(),
    };
    // A socket of IPv6 has an address of IPv4 as `::ffff:127.0.0.1`.
    let (a, b) = (one.ip().to_canonical(), other.ip().to_canonical());
    one.port() == other.port() && (a == b || has(a, b) || has(b, a))
}

/// How far an address that overlaps is from the one that is asked for.
fn distance(listening: IpAddr, asked: IpAddr) -> u8 {
    let (listening, asked) = (listening.to_canonical(), asked.to_canonical());
    match (listening == asked, listening.is_ipv4() == asked.is_ipv4()) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

/// The first process that has a socket.
fn owner(socket: u64) -> Option<Process> {
    let mut all = procfs::process::all_processes().ok()?.flatten();
    all.find(|process| {
        let pid = Pid::from_raw(process.pid);
        pid.is_some_and(|pid| sockets(pid).is_ok_and(|sockets| sockets.contains(&socket)))
    })
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
    let files = Process::new(process.as_raw_nonzero().get())?.fd()?;
    Ok(files
        .flatten()
        .filter_map(|file| socket(file.target))
        .collect())
}
