//! Clients of a listener, within limits: one that says nothing, or says it slowly, holds no file descriptor for long. Those that go on
//! saying something may hold all places but a few, which are for addresses that have next to none: probes come from there.
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
/// Connections of an address for which there are places when all others are taken.
const FEW: usize = 4;
/// There is one of these places for so many others.
const OTHERS: usize = 8;
/// A /64 of IPv6 has as many connections as so many of its addresses: it may be one client's, or that of all pods of a node.
const ADDRESSES_OF_NETWORK: usize = 4;

/// Limits of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenerLimits {
    /// Time for the headers of a request. A connection of HTTP/1.1 without a request ends as late.
    pub header_timeout: Duration,
    /// Connections at the same time. Further ones of addresses that have several are closed; others have an eighth of as many places more,
    /// and wait when these are taken.
    pub max_connections: usize,
    /// Connections of one address at the same time; of one /64 of IPv6 four times as many. Further ones are closed, so that others have
    /// their turn.
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
    places: Arc<Semaphore>,
    /// Further places, of addresses with few connections.
    kept_free: Arc<Semaphore>,
    per_address: usize,
    by_client: BTreeMap<Client, Arc<Semaphore>>,
    /// Number of clients at which those without connections are forgotten.
    sweep_at: usize,
    refused: RefusedPeers,
}

/// Somebody with connections.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Client {
    Address(IpAddr),
    /// The first half of addresses of IPv6.
    Network(u64),
}

/// Place of a connection, which is free when this is dropped.
pub(crate) struct ConnectionPermit {
    _place: OwnedSemaphorePermit,
    _of_address: Option<AddressPermit>,
}

/// One of the connections of an address.
struct AddressPermit {
    _of_address: OwnedSemaphorePermit,
    _of_network: Option<OwnedSemaphorePermit>,
    /// Those that the address has, with this one.
    number: usize,
}

/// The address has as many connections as it may.
struct TooMany;

impl Clients {
    /// So many connections, and so many of one address.
    pub(crate) fn new(total: usize, per_address: usize) -> Self {
        Clients {
            places: Arc::new(Semaphore::new(total)),
            kept_free: Arc::new(Semaphore::new(total / OTHERS)),
            per_address,
            by_client: BTreeMap::new(),
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
            let (stream, address) = listener.accept().await;
            let ip = address.ip();
            let Ok(of_address) = ip.map(|ip| self.permit_of(ip)).transpose() else {
                self.warn_rejected(ip, &format!("limit {}", self.per_address));
                continue;
            };
            let Some(place) = self.place(of_address.as_ref()).await else {
                self.warn_rejected(ip, "all places are taken");
                continue;
            };
            let permit = ConnectionPermit {
                _place: place,
                _of_address: of_address,
            };
            return (stream, address, permit);
        }
    }

    /// A place, as soon as there is one. `None`: there is none, and the address has several connections.
    async fn place(&self, of_address: Option<&AddressPermit>) -> Option<OwnedSemaphorePermit> {
        let (place, kept_free) = (Arc::clone(&self.places), Arc::clone(&self.kept_free));
        // Semaphores here are never closed.
        let Some(of_address) = of_address else {
            return place.acquire_owned().await.ok();
        };
        if of_address.number > FEW {
            return place.try_acquire_owned().ok();
        }
        tokio::select! {
            // Those that are kept free are for when there is no other.
            biased;
            place = place.acquire_owned() => place.ok(),
            place = kept_free.acquire_owned() => place.ok(),
        }
    }

    fn permit_of(&mut self, ip: IpAddr) -> Result<AddressPermit, TooMany> {
        if self.by_client.len() >= self.sweep_at {
            // One that has connections holds its semaphore by their permits.
            self.by_client
                .retain(|_, connections| Arc::strong_count(connections) > 1);
            self.sweep_at = FEW_ADDRESSES.max(2 * self.by_client.len());
        }
        let of_network = match network(ip) {
            None => None,
            Some(network) => {
                let most = ADDRESSES_OF_NETWORK * self.per_address;
                Some(self.permit(Client::Network(network), most)?.0)
            }
        };
        let (of_address, number) = self.permit(Client::Address(ip), self.per_address)?;
        Ok(AddressPermit {
            _of_address: of_address,
            _of_network: of_network,
            number,
        })
    }

    /// A permit, and how many there are with it.
    fn permit(
        &mut self,
        client: Client,
        most: usize,
    ) -> Result<(OwnedSemaphorePermit, usize), TooMany> {
        let connections = self.by_client.entry(client);
        let connections = connections.or_insert_with(|| Arc::new(Semaphore::new(most)));
        let permit = Arc::clone(connections).try_acquire_owned();
        let number = most - connections.available_permits();
        permit.map(|permit| (permit, number)).map_err(|_| TooMany)
    }

    fn warn_rejected(&mut self, ip: Option<IpAddr>, limit: &str) {
        let Some(ip) = ip else {
            return;
        };
        let reason = format!("too many connections ({limit})");
        let from = network(ip).map_or(ip, |network| {
            Ipv6Addr::from_bits(u128::from(network) << 64).into()
        });
        if let Some(line) = self.refused.refused(from, &reason, Instant::now()) {
            warn!("{line}");
        }
    }
}

/// The /64 of an address of IPv6.
fn network(ip: IpAddr) -> Option<u64> {
    match ip {
        IpAddr::V4(_) => None,
        IpAddr::V6(ip) => u64::try_from(ip.to_bits() >> 64).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::pin;

    use futures::FutureExt;
    use tokio::io::Empty;

    use super::*;

    /// Addresses that connect, one after the other.
    struct Connecting(Vec<IpAddr>);

    impl Listener for Connecting {
        type Io = Empty;
        type Addr = SocketAddr;

        async fn accept(&mut self) -> (Empty, SocketAddr) {
            if self.0.is_empty() {
                return std::future::pending().await;
            }
            (tokio::io::empty(), (self.0.remove(0), 1).into())
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// The places that an address gets without waiting.
    fn fill(clients: &mut Clients, ip: &str) -> Vec<ConnectionPermit> {
        let connect = || {
            let mut once = Connecting(vec![address(ip)]);
            let (_, _, permit) = clients.accept(&mut once).now_or_never()?;
            Some(permit)
        };
        std::iter::from_fn(connect).collect()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// How many an address gets, and then another one.
    fn shares(one: &str, other: &str) -> [usize; 2] {
        let (mut clients, mut kept) = (Clients::new(10_000, 8), Vec::new());
        [one, other].map(|ip| {
            let before = kept.len();
            while let Ok(permit) = clients.permit_of(address(ip)) {
                kept.push(permit);
            }
            kept.len() - before
        })
    }

    #[test]
    fn addresses_of_a_network_share_what_four_of_them_have() {
        for (one, other) in [
            ("192.0.2.1", "192.0.2.2"),
            ("2001:db8::1", "2001:db8::2:3:4:5"),
            ("2001:db8:0:1::1", "2001:db8::1"),
        ] {
            assert_eq!(shares(one, other), [8, 8], "{one} {other}");
        }
        let (mut clients, mut kept) = (Clients::new(10_000, 8), Vec::new());
        for number in 0..8 {
            let ip = address(&format!("2001:db8::{number}"));
            kept.extend((0..8).filter_map(|_| clients.permit_of(ip).ok()));
        }
        assert_eq!(kept.len(), 8 * ADDRESSES_OF_NETWORK);
    }

    /// Whoever has many connections takes every place that there is, and then somebody comes who has none.
    #[test]
    fn there_is_a_place_for_addresses_with_few_connections_when_all_others_are_taken() {
        let mut clients = Clients::new(512, 64);
        let many = (0..9).flat_map(|host| fill(&mut clients, &format!("10.0.0.{host}")));
        let many: Vec<_> = many.collect();
        assert_eq!(many.len(), 512 + FEW, "the last of them had few");
        for probe in ["192.0.2.1", "2001:db8::1"] {
            assert_eq!(fill(&mut clients, probe).len(), FEW, "{probe}");
        }
    }

    /// Also when those places are taken: the next that is free is for who has few connections, whichever it is.
    #[tokio::test]
    async fn address_with_few_connections_waits_for_any_place_and_one_with_many_for_none() {
        let [greedy, probe, next] = ["10.0.0.1", "192.0.2.1", "192.0.2.2"];
        for is_kept_free in [true, false] {
            let mut clients = Clients::new(OTHERS * FEW, 64);
            let mut all = fill(&mut clients, greedy);
            let mut kept_free = fill(&mut clients, probe);
            assert_eq!((all.len(), kept_free.len()), (OTHERS * FEW, FEW));

            let mut come = Connecting([greedy, probe, next].map(address).to_vec());
            let mut accepted = pin!(clients.accept(&mut come));
            assert!(accepted.as_mut().now_or_never().is_none());
            if is_kept_free {
                &mut kept_free
            } else {
                &mut all
            }
            .pop();
            let (_, from, _) = accepted.as_mut().now_or_never().unwrap();
            assert_eq!(from.ip(), address(next), "{is_kept_free}");
        }
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let mut clients = Clients::new(10_000, 64);
        let ip = |number: u32| IpAddr::V4(number.into());
        let kept: Vec<_> = (0..3).map(|number| clients.permit_of(ip(number))).collect();
        for number in 3..5000 {
            assert!(clients.permit_of(ip(number)).is_ok());
            assert!(clients.by_client.len() <= 2 * FEW_ADDRESSES);
        }
        let is_known = |number| clients.by_client.contains_key(&Client::Address(ip(number)));
        assert!((0..3).all(is_known));
        drop(kept);
    }
}
