//! Steering: new connections to an address that two processes listen on go to one of them.
//!
//! The kernel spreads connections over all sockets that share an address by `SO_REUSEPORT`, and resets those that wait in the queue
//! of a socket when it is closed. So before a process closes its sockets, a program of the kernel's packet filter chooses among the
//! others. (`net.ipv4.tcp_migrate_req` would do, too, but for the whole machine.)

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::ensure;
use nix::libc::{sock_filter, sock_fprog};
use nix::sys::socket::{setsockopt, sockopt::AttachReusePortCbpf};
use rustix::process::Pid;
use socket2::{Domain, SockFilter, Socket, Type};
use tracing::warn;

use super::ports::{listening, sockets};

/// Instructions of the packet filter.
const LOAD_ABSOLUTE: u16 = 0x20;
const MODULO: u16 = 0x94;
const ADD: u16 = 0x04;
const RETURN: u16 = 0x16;
const RETURN_CONSTANT: u16 = 0x06;

/// The place that a random number is loaded from: `SKF_AD_OFF + SKF_AD_RANDOM`.
const RANDOM: u32 = 0xffff_f000 + 56;

/// No socket has this index.
const NO_CHOICE: u32 = u32::MAX;

/// Addresses whose new connections go to one of two processes.
#[derive(Debug)]
pub(crate) struct Steering(Vec<SocketAddr>);

impl Steering {
    /// Sends new connections past the sockets of a process, where those of another listen on the same addresses, and began later.
    ///
    /// # Errors
    ///
    /// Sockets of a process that may not be read.
    pub(crate) fn away_from(outgoing: Pid, replacement: Pid) -> anyhow::Result<Steering> {
        let (outgoing, replacement) = (sockets(outgoing)?, sockets(replacement)?);
        let mut addresses: BTreeMap<SocketAddr, Listening> = BTreeMap::new();
        for entry in listening() {
            let count = addresses.entry(entry.local_address).or_default();
            *match entry.inode {
                inode if outgoing.contains(&inode) => &mut count.outgoing,
                inode if replacement.contains(&inode) => &mut count.replacement,
                _ => &mut count.others,
            } += 1;
        }
        addresses.retain(|_, count| count.outgoing > 0 && count.replacement > 0);
        let steered = addresses.into_iter().filter_map(|(address, count)| {
            let steered = count.steer(address);
            steered
                .inspect_err(|error| warn!("connections to {address} may be reset: {error:#}"))
                .ok()?;
            Some(address)
        });
        Ok(Steering(steered.collect()))
    }

    /// Leaves the choice to the kernel again: sockets that are opened from now on get connections, too.
    pub(crate) fn end(self) {
        for address in self.0 {
            if let Err(error) = attach(address, &mut [instruction(RETURN_CONSTANT, NO_CHOICE)]) {
                warn!("connections to {address} are spread unevenly: {error:#}");
            }
        }
    }
}

/// How many sockets listen on an address.
#[derive(Clone, Copy, Debug, Default)]
struct Listening {
    outgoing: u32,
    replacement: u32,
    others: u32,
}

impl Listening {
    /// Chooses a later socket by its index. The kernel numbers sockets in the order in which they began to listen. An index that is
    /// too large once the former ones are closed counts as no choice.
    fn steer(self, address: SocketAddr) -> anyhow::Result<()> {
        ensure!(self.others == 0, "another process listens there, too");
        let mut program = [
            instruction(LOAD_ABSOLUTE, RANDOM),
            instruction(MODULO, self.replacement),
            instruction(ADD, self.outgoing),
            instruction(RETURN, 0),
        ];
        attach(address, &mut program)
    }
}

/// Attaches a program to all sockets of an address. That is done by any of them, so one of ours joins for a moment.
fn attach(address: SocketAddr, program: &mut [sock_filter]) -> anyhow::Result<()> {
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
    let program = sock_fprog {
        len: u16::try_from(program.len())?,
        filter: program.as_mut_ptr(),
    };
    Ok(setsockopt(&socket, AttachReusePortCbpf, &program)?)
}

fn instruction(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
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

            let count = Listening {
                outgoing: 3,
                replacement: 3,
                others: 0,
            };
            count.steer(address).unwrap();
            let _steered: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
            assert_eq!(
                accepted(&others) + accepted(std::slice::from_ref(&first)),
                0
            );
            assert_eq!(accepted(&later), 64);

            drop((first, others));
            let _after: Vec<TcpStream> = (0..64).map(|_| connect()).collect();
            assert_eq!(accepted(&later), 64);

            let newer = open(4);
            Steering(vec![address]).end();
            let _spread: Vec<TcpStream> = (0..128).map(|_| connect()).collect();
            let of_newer = accepted(&newer);
            assert_eq!(of_newer + accepted(&later), 128);
            assert!(of_newer > 32, "{of_newer} of 128 came to four of seven");
        }
    }

    #[test]
    fn sockets_that_nobody_else_or_a_third_has_stay_as_they_are() {
        let alone = listener((Ipv4Addr::LOCALHOST, 0).into());
        let address = alone.local_addr().unwrap().as_socket().unwrap();
        let (own, init) = (getpid(), Pid::INIT);
        let steering = Steering::away_from(own, init).map(|steering| steering.0);
        assert!(steering.is_ok_and(|addresses| addresses.is_empty()) || sockets(init).is_err());
        let third = Listening {
            outgoing: 1,
            replacement: 1,
            others: 1,
        };
        assert!(third.steer(address).is_err());
        let _client = TcpStream::connect_timeout(&address, Duration::from_secs(10)).unwrap();
        assert_eq!(accepted(&[alone]), 1);
    }

    #[test]
    fn a_process_whose_sockets_may_not_be_read_is_an_error() {
        let nobody = Pid::from_raw(i32::MAX).unwrap();
        assert!(Steering::away_from(getpid(), nobody).is_err());
        assert!(Steering::away_from(nobody, getpid()).is_err());
    }
}
