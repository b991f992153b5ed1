//! Clients of a listener, within limits: one that says nothing, or says it slowly, holds no file for long, and many do not hold all.
//!
//! ```text
//!   Listener --Clients::accept--> Place --serve.rs--> headers of a first request in time, and of the next --> Router
//! ```

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::unix;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// Time for the headers of a request. A connection without a request ends as late.
    pub headers: Duration,
    /// Connections at the same time. Further ones wait until one ends.
    pub connections: usize,
    /// Connections of one address at the same time. Further ones are closed, so that others have their turn.
    pub of_address: usize,
}

impl ClientLimits {
    /// For probes, scrapers and people.
    pub const OPERATORS: ClientLimits = ClientLimits {
        headers: Duration::from_secs(10),
        connections: 512,
        of_address: 64,
    };
    /// For data planes: each of their workers may have several.
    pub const DATA_PLANES: ClientLimits = ClientLimits {
        headers: Duration::from_secs(10),
        connections: 16_384,
        of_address: 4096,
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

/// Places of the clients of a listener.
pub(crate) struct Clients {
    all: Arc<Semaphore>,
    of_address: usize,
    by_address: BTreeMap<IpAddr, Arc<Semaphore>>,
}

/// Place of a connection, which is free when this is dropped.
pub(crate) struct Place {
    _of_all: Option<OwnedSemaphorePermit>,
    _of_address: Option<OwnedSemaphorePermit>,
}

impl Clients {
    /// So many places, and so many of one address.
    pub(crate) fn new(all: usize, of_address: usize) -> Self {
        Clients {
            all: Arc::new(Semaphore::new(all)),
            of_address,
            by_address: BTreeMap::new(),
        }
    }

    /// The next connection, as soon as there is a place for it.
    pub(crate) async fn accept<L>(&mut self, listener: &mut L) -> (L::Io, L::Addr, Place)
    where
        L: Listener,
        L::Addr: ClientAddress,
    {
        loop {
            // The semaphore is never closed.
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok();
            let (stream, address) = listener.accept().await;
            if let Some(of_address) = self.place_of(&address) {
                let place = Place {
                    _of_all: of_all,
                    _of_address: of_address,
                };
                return (stream, address, place);
            }
        }
    }

    /// `None`: the address has as many as it may.
    fn place_of(&mut self, address: &impl ClientAddress) -> Option<Option<OwnedSemaphorePermit>> {
        let Some(ip) = address.ip() else {
            return Some(None);
        };
        let most = self.of_address;
        self.by_address
            .retain(|_, places| places.available_permits() < most);
        let places = self.by_address.entry(ip);
        let places = places.or_insert_with(|| Arc::new(Semaphore::new(most)));
        Arc::clone(places).try_acquire_owned().ok().map(Some)
    }
}
