//! Loopback ports and networks of one's own.
//!
//! A test that binds port 0, reads the number and lets it go has lost it to whoever binds next, and Envoy would not
//! even notice (SO_REUSEPORT). So a number comes from below the kernel's ephemeral range and stays reserved by an
//! exclusive lock on a file named after it, which ends with the process at the latest.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tokio::net::TcpSocket;

const PORTS: std::ops::Range<u16> = 15_000..32_000;
/// Second octets: 127.0 is for ports, and the examples have their fixed addresses below 127.20.
const NETWORKS: std::ops::Range<u8> = 20..250;

/// A free port of 127.0.0.1, reserved until this is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Reserves a free port.
    pub fn reserve() -> Result<Port> {
        let (from, len) = (PORTS.start, PORTS.len());
        let candidates =
            scattered(len).map(|offset| from + u16::try_from(offset).unwrap_or_default());
        for number in candidates {
            if let Some(lock) = lock(&format!("port-{number}"))?
                && is_free(SocketAddr::from((Ipv4Addr::LOCALHOST, number)))
            {
                return Ok(Port {
                    number,
                    _lock: lock,
                });
            }
        }
        bail!("no free port from {} to {}", PORTS.start, PORTS.end);
    }

    /// The number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The port on 127.0.0.1.
    pub fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.number))
    }
}

/// A network 127.N.0.0/16, reserved until this is dropped: 65,000 pods that all listen on the same port, as the pods
/// of a Service do.
#[derive(Debug)]
pub struct Network {
    octet: u8,
    port: Port,
    _lock: File,
}

impl Network {
    /// Reserves a network.
    pub fn reserve() -> Result<Network> {
        let port = Port::reserve()?;
        for offset in scattered(NETWORKS.len()) {
            let octet = NETWORKS.start + u8::try_from(offset).unwrap_or_default();
            if let Some(lock) = lock(&format!("network-{octet}"))? {
                return Ok(Network {
                    octet,
                    port,
                    _lock: lock,
                });
            }
        }
        bail!(
            "no free network 127.{}.0.0/16 to 127.{}.0.0/16",
            NETWORKS.start,
            NETWORKS.end
        );
    }

    /// The address of the `n`th pod, counted from 0.
    pub fn pod(&self, n: u16) -> SocketAddr {
        let [high, low] = (n + 1).to_be_bytes();
        SocketAddr::from((
            Ipv4Addr::new(127, self.octet, high, low),
            self.port.number(),
        ))
    }

    /// The addresses of the first `count` pods.
    pub fn pods(&self, count: u16) -> Vec<SocketAddr> {
        (0..count).map(|n| self.pod(n)).collect()
    }
}

/// Returns `true` if nothing listens there.
///
/// It does not listen itself: a process that another thread starts at this moment would keep a listener open until it becomes
/// another program, and the caller could not bind.
pub fn is_free(addr: SocketAddr) -> bool {
    let socket = if addr.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    };
    socket
        .and_then(|socket| socket.set_reuseaddr(true).and_then(|()| socket.bind(addr)))
        .is_ok()
}

/// All of `0..len`, from a start that differs between processes and calls.
fn scattered(len: usize) -> impl Iterator<Item = usize> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let start = (std::process::id() as usize)
        .wrapping_mul(61)
        .wrapping_add(call * 7);
    (0..len).map(move |n| start.wrapping_add(n) % len)
}

/// `None` when somebody else holds it.
fn lock(name: &str) -> Result<Option<File>> {
    let path = folder()?.join(name);
    let context = || format!("lock {}", path.display());
    let file = File::options()
        .create(true)
        .append(true)
        .open(&path)
        .with_context(context)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error).with_context(context),
    }
}

fn folder() -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("sluice-ports-{user}"));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once() {
        let ports: Vec<Port> = (0..50).map(|_| Port::reserve().unwrap()).collect();
        let mut numbers: Vec<u16> = ports.iter().map(Port::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 50);
    }

    #[test]
    fn who_listens_is_seen_and_who_only_looks_is_in_nobodys_way() {
        let port = Port::reserve().unwrap();
        let looking = TcpSocket::new_v4().unwrap();
        looking.set_reuseaddr(true).unwrap();
        looking.bind(port.addr()).unwrap();
        let listening = std::net::TcpListener::bind(port.addr()).unwrap();
        assert!(!is_free(port.addr()));
        drop(listening);
        assert!(is_free(port.addr()));
    }

    #[test]
    fn a_network_has_distinct_pods_on_one_port() {
        let (a, b) = (Network::reserve().unwrap(), Network::reserve().unwrap());
        assert_ne!(a.pod(0).ip(), b.pod(0).ip());
        assert_ne!(a.pod(0).ip(), a.pod(300).ip());
        assert_eq!(a.pod(0).port(), a.pod(300).port());
    }
}
