//! Clients of a listener, within limits: one that says nothing, or says it slowly, holds no file descriptor for long, and many do not
//! hold all.
//!
//! ```text
//!   Listener --Clients::accept--> ConnectionPermit --serve.rs--> headers of a first request in time, and of the next --> Router
//! ```

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::serve::{Listener, ListenerExt};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream, unix};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{debug, warn};

use crate::refused_peers::RefusedPeers;

const FEW_ADDRESSES: usize = 64;

/// Limits of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenerLimits {
    /// Time for the headers of a request. A connection of HTTP/1.1 without a request ends as late.
    pub header_timeout: Duration,
    /// Connections at the same time. Further ones wait until one ends.
    pub max_connections: usize,
    /// Connections of one address at the same time, of IPv6 of one /64. Further ones are closed, so that others have their turn.
    pub max_connections_per_address: usize,
    /// Accepts HTTP/2 as well, which only data planes (gRPC) speak. Its connections live while the client answers pings.
    pub http2: bool,
}

impl ListenerLimits {
    /// Time in which a client of ours takes something of what was sent to it. An Envoy that gets tens of thousands of hosts reads nothing
    /// for a while.
    pub const DATA_PLANE_WRITE_TIMEOUT: Duration = Duration::from_mins(5);
    /// Time in which any other client takes something of what was sent to it.
    pub const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
    /// For probes, scrapers and people.
    pub const OPERATORS: ListenerLimits = ListenerLimits {
        header_timeout: Duration::from_secs(10),
        max_connections: 512,
        max_connections_per_address: 64,
        http2: false,
    };
    /// For data planes: each of their workers may have several.
    pub const DATA_PLANES: ListenerLimits = ListenerLimits {
        header_timeout: Duration::from_secs(10),
        max_connections: 16_384,
        max_connections_per_address: 4096,
        http2: true,
    };
    /// For API servers, which keep a few connections each. All of a cluster may come from one address, that of a tunnel.
    pub const API_SERVERS: ListenerLimits = ListenerLimits {
        header_timeout: Duration::from_secs(10),
        max_connections: 512,
        max_connections_per_address: 128,
        http2: false,
    };
}

/// Address that all connections of a client have in common.
pub trait ClientAddress {
    /// `None`: there is none to tell them apart by.
    fn ip(&self) -> Option<IpAddr>;
}

impl ClientAddress for SocketAddr {
    fn ip(&self) -> Option<IpAddr> {
        Some(self.ip().to_canonical())
    }
}

impl ClientAddress for unix::SocketAddr {
    fn ip(&self) -> Option<IpAddr> {
        None
    }
}

/// The same listener, of which a connection ends when its client has taken nothing of what was sent to it for so long.
pub fn with_write_timeout(
    listener: TcpListener,
    timeout: Duration,
) -> impl Listener<Io = TcpStream, Addr = SocketAddr> {
    listener.tap_io(move |stream| {
        let socket = SockRef::from(&*stream);
        if let Err(error) = socket.set_tcp_user_timeout(Some(timeout)) {
            debug!("cannot set TCP_USER_TIMEOUT: {error}");
        }
    })
}

/// Connections of a listener.
pub(crate) struct Clients {
    total: Arc<Semaphore>,
    per_address: usize,
    by_address: BTreeMap<IpAddr, Arc<Semaphore>>,
    /// Number of addresses at which those without connections are forgotten.
    sweep_at: usize,
    refused: RefusedPeers,
}

/// Place of a connection, which is free when this is dropped.
pub(crate) struct ConnectionPermit {
    _of_total: Option<OwnedSemaphorePermit>,
    _of_address: Option<OwnedSemaphorePermit>,
}

/// The address has as many connections as it may.
struct TooMany;

impl Clients {
    /// So many connections, and so many of one address.
    pub(crate) fn new(total: usize, per_address: usize) -> Self {
        Clients {
            total: Arc::new(Semaphore::new(total)),
            per_address,
            by_address: BTreeMap::new(),
            sweep_at: FEW_ADDRESSES,
            refused: RefusedPeers::new(|_| ""),
        }
    }

    /// The next connection, as soon as there is a place for it.
    pub(crate) async fn accept<L>(&mut self, listener: &mut L) -> (L::Io, L::Addr, ConnectionPermit)
    where
        L: Listener,
        L::Addr: ClientAddress,
    {
        loop {
            // The semaphore is never closed.
            let of_total = Arc::clone(&self.total).acquire_owned().await.ok();
            let (stream, address) = listener.accept().await;
            let Some(ip) = address.ip() else {
                let permit = ConnectionPermit {
                    _of_total: of_total,
                    _of_address: None,
                };
                return (stream, address, permit);
            };
            match self.permit_of(ip) {
                Ok(of_address) => {
                    let permit = ConnectionPermit {
                        _of_total: of_total,
                        _of_address: Some(of_address),
                    };
                    return (stream, address, permit);
                }
                Err(TooMany) => self.warn_rejected(ip),
            }
        }
    }

    fn permit_of(&mut self, ip: IpAddr) -> Result<OwnedSemaphorePermit, TooMany> {
        let most = self.per_address;
        if self.by_address.len() >= self.sweep_at {
            self.by_address
                .retain(|_, connections| connections.available_permits() < most);
            self.sweep_at = FEW_ADDRESSES.max(2 * self.by_address.len());
        }
        let connections = self.by_address.entry(client(ip));
        let connections = connections.or_insert_with(|| Arc::new(Semaphore::new(most)));
        let permit = Arc::clone(connections).try_acquire_owned();
        permit.map_err(|_| TooMany)
    }

    fn warn_rejected(&mut self, ip: IpAddr) {
        let reason = format!("too many connections (limit {})", self.per_address);
        if let Some(line) = self.refused.refused(client(ip), &reason, Instant::now()) {
            warn!("{line}");
        }
    }
}

/// Whoever has an address of IPv6 has all of its /64.
fn client(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_all_addresses_of_its_network() {
        for (one, other, is_same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::1", "2001:db8::2:3:4:5", true),
            ("2001:db8:0:1::1", "2001:db8::1", false),
        ] {
            let [first, second] = [one, other].map(|ip| client(ip.parse().unwrap()));
            assert_eq!(first == second, is_same, "{one} {other}");
        }
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let mut clients = Clients::new(10_000, 64);
        let ip = |number: u32| IpAddr::V4(number.into());
        let kept: Vec<_> = (0..3).map(|number| clients.permit_of(ip(number))).collect();
        for number in 3..5000 {
            assert!(clients.permit_of(ip(number)).is_ok());
            assert!(clients.by_address.len() <= 2 * FEW_ADDRESSES);
        }
        assert!((0..3).all(|number| clients.by_address.contains_key(&ip(number))));
        drop(kept);
    }
}
