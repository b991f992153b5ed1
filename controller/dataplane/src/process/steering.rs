//! Steering: new connections to an address that two processes listen on go to one of them.
//!
//! The kernel spreads connections over all sockets that share an address by `SO_REUSEPORT`, and resets those that wait in the queue
//! of a socket when it is closed. So before a process closes its sockets, a program of the kernel's packet filter chooses among the
//! others. (`net.ipv4.tcp_migrate_req` would do, too, but for the whole machine.)

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::Context;
use nix::libc::{sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt::AttachReusePortCbpf};
use rustix::process::Pid;
use socket2::{Domain, SockFilter, Socket, Type};

use super::ports::{listening, sockets};

/// The return values of the packet filter: the instructions `ld rand`, `mod #k`, `add #k`, `ret a` and `ret #k`.
const LOAD_RANDOM: (u16, u32) = (0x20, 0xffff_f000 + 56);
const MODULO: u16 = 0x94;
const ADD: u16 = 0x04;
const RETURN: u16 = 0x16;
const RETURN_CONSTANT: u16 = 0x06;

/// Sends new connections past the sockets of a process, where sockets that were opened later listen on the same addresses.
pub(crate) fn steer_past(process: Pid) -> anyhow::Result<()> {
    let own = sockets(process);
    let mut addresses: BTreeMap<SocketAddr, Listening> = BTreeMap::new();
    for entry in listening() {
        let count = addresses.entry(entry.local_address).or_default();
        if own.contains(&entry.inode) {
            count.former += 1;
        } else {
            count.later += 1;
        }
    }
    for (address, count) in addresses {
        if count.former > 0 && count.later > 0 {
            count
                .steer(address)
                .with_context(|| format!("steering connections to {address}"))?;
        }
    }
    Ok(())
}

/// How many sockets listen on an address.
#[derive(Clone, Copy, Debug, Default)]
struct Listening {
    former: u32,
    later: u32,
}

impl Listening {
    /// Attaches the program to all sockets of an address. That is done by any of them, so one of ours joins for a moment.
    fn steer(self, address: SocketAddr) -> anyhow::Result<()> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        // Nothing arrives there: a client that was sent to this socket tries again a second later.
        socket.attach_filter(&[SockFilter::new(RETURN_CONSTANT, 0, 0, 0)])?;
        socket.bind(&address.into())?;
        socket.listen(1)?;
        let mut program = self.program();
        let program = sock_fprog {
            len: u16::try_from(program.len())?,
            filter: program.as_mut_ptr(),
        };
        Ok(setsockopt(&socket, AttachReusePortCbpf, &program)?)
    }

    /// Chooses a later socket by its index. The kernel numbers sockets in the order in which they began to listen. An index that is
    /// too large once the former ones are closed counts as no choice.
    fn program(self) -> [sock_filter; 4] {
        let instruction = |(code, k)| sock_filter {
            code,
            jt: 0,
            jf: 0,
            k,
        };
        [
            LOAD_RANDOM,
            (MODULO, self.later),
            (ADD, self.former),
            (RETURN, 0),
        ]
        .map(instruction)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};
    use std::time::Duration;

    use rustix::process::getpid;

    use super::*;

    fn listener(address: SocketAddr) -> Socket {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
        socket.set_reuse_port(true).unwrap();
        if address.is_ipv6() {
            socket.set_only_v6(true).unwrap();
        }
        socket.bind(&address.into()).unwrap();
        socket.listen(128).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    fn accepted(sockets: &[Socket]) -> usize {
        let all = |socket: &Socket| std::iter::from_fn(|| socket.accept().ok()).count();
        sockets.iter().map(all).sum()
    }

    #[test]
    fn connections_go_to_later_sockets_and_closing_the_former_loses_none() {
        for ip in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
            let first = listener(SocketAddr::new(ip, 0));
            let address = first.local_addr().unwrap().as_socket().unwrap();
            let open = |count: u32| (0..count).map(|_| listener(address)).collect::<Vec<_>>();
            let (others, later) = (open(2), open(3));
            let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();

            Listening {
                former: 3,
                later: 3,
            }
            .steer(address)
            .unwrap();
            let _steered: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
            assert_eq!(
                accepted(&others) + accepted(std::slice::from_ref(&first)),
                0
            );
            assert_eq!(accepted(&later), 64);

            drop((first, others));
            let _after: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
            assert_eq!(accepted(&later), 64);
        }
    }

    #[test]
    fn sockets_that_nobody_else_has_stay_as_they_are() {
        let alone = listener((Ipv4Addr::LOCALHOST, 0).into());
        let address = alone.local_addr().unwrap().as_socket().unwrap();
        steer_past(getpid()).unwrap();
        let _client = TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
        assert_eq!(accepted(&[alone]), 1);
    }
}
