//! The sockets that a process and its children listen on, as /proc tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::proc;

const LISTENING: &str = "0A";
/// `SO_ACCEPTCON` of a unix socket.
const ACCEPTS: &str = "00010000";

/// A listening socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Listener {
    /// A port.
    Tcp(SocketAddr),
    /// A unix socket.
    Unix(PathBuf),
}

/// Every listener of a process, its children and theirs.
pub fn of_tree(root: u32) -> Result<BTreeSet<Listener>> {
    let mut pids = vec![root];
    let mut at = 0;
    while let Some(pid) = pids.get(at) {
        let children = proc::children(*pid);
        pids.extend(children);
        at += 1;
    }
    let known = known(root)?;
    let inodes = pids.iter().flat_map(|pid| sockets(*pid));
    Ok(inodes
        .filter_map(|inode| known.get(&inode).cloned())
        .collect())
}

/// The inodes of a process's sockets.
fn sockets(pid: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    let inode = |target: PathBuf| {
        Some(
            target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?
                .to_owned(),
        )
    };
    targets.filter_map(inode).collect()
}

fn known(pid: u32) -> Result<BTreeMap<String, Listener>> {
    let read = |file: &str| {
        let path = format!("/proc/{pid}/net/{file}");
        fs::read_to_string(&path).context(path)
    };
    let mut known = BTreeMap::new();
    for file in ["tcp", "tcp6"] {
        for line in read(file)?.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if let [_, local, _, LISTENING, _, _, _, _, _, inode, ..] = fields.as_slice() {
                let address = address(local).with_context(|| line.to_owned())?;
                known.insert((*inode).to_owned(), Listener::Tcp(address));
            }
        }
    }
    for line in read("unix")?.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [_, _, _, ACCEPTS, _, _, inode, path] = fields.as_slice() {
            known.insert((*inode).to_owned(), Listener::Unix(path.into()));
        }
    }
    Ok(known)
}

/// `0100007F:1F90`: words of 32 bits in the machine's order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words = (0..address.len())
        .step_by(8)
        .map(|at| u32::from_str_radix(address.get(at..at + 8)?, 16).ok());
    let bytes: Vec<u8> = words
        .collect::<Option<Vec<u32>>>()?
        .into_iter()
        .flat_map(u32::to_ne_bytes)
        .collect();
    let ip = match bytes.len() {
        4 => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_of_this_process_is_found() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let own = Listener::Tcp(listener.local_addr().unwrap());
            assert!(
                of_tree(std::process::id()).unwrap().contains(&own),
                "{own:?}"
            );
        }
    }
}
