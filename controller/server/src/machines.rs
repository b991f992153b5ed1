//! Machines that run Sluice: this one, and those of connected data planes.
//!
//! ```text
//!   connections to --xds-address --Peers--+
//!   interfaces of this machine -----------+--follow--> Event::Machines --> addresses that no endpoint may have
//! ```
//!
//! Addresses in objects are found by the translation itself.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::serve::Listener;
use sluice_source::Event;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::sync::mpsc::WeakUnboundedSender;

/// Interval between two looks at the interfaces.
const LOOK: Duration = Duration::from_secs(10);
/// A data plane that is not connected serves on, and comes back: so long it is remembered.
const REMEMBERED: Duration = Duration::from_mins(5);
/// Without TLS anybody can connect.
const MOST: usize = 4096;

/// Addresses of data planes that are connected, or were lately.
#[derive(Clone, Debug, Default)]
pub struct Peers(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    all: Mutex<BTreeMap<IpAddr, Peer>>,
    come: Notify,
}

#[derive(Debug)]
struct Peer {
    open: usize,
    last: Instant,
}

impl Peers {
    fn all(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Peer>> {
        self.0.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn come(&self, peer: IpAddr, now: Instant) {
        let mut all = self.all();
        if let Some(known) = all.get_mut(&peer) {
            known.open += 1;
        } else if all.len() < MOST {
            all.insert(peer, Peer { open: 1, last: now });
            self.0.come.notify_one();
        }
    }

    fn go(&self, peer: IpAddr, now: Instant) {
        if let Some(known) = self.all().get_mut(&peer) {
            *known = Peer {
                open: known.open.saturating_sub(1),
                last: now,
            };
        }
    }

    /// Their addresses. Who has been gone for long is forgotten.
    fn addresses(&self, now: Instant) -> BTreeSet<IpAddr> {
        let mut all = self.all();
        all.retain(|_, peer| peer.open > 0 || now.duration_since(peer.last) < REMEMBERED);
        all.keys().copied().collect()
    }

    /// Notifies the publisher of changes, for as long as it runs.
    pub async fn follow(self, events: WeakUnboundedSender<Vec<Event>>) {
        let mut told = BTreeSet::new();
        loop {
            let mut now = interfaces();
            now.extend(self.addresses(Instant::now()));
            if now != told {
                let Some(events) = events.upgrade() else {
                    break;
                };
                events.send(vec![Event::Machines(now.clone())]).ok();
                told = now;
            }
            tokio::select! {
                () = self.0.come.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        // Without a source nothing is translated, and there is nothing to tell.
        std::future::pending::<()>().await;
    }
}

/// The addresses of this machine, as they are now. Without an answer loopback alone is known to be its own.
pub fn interfaces() -> BTreeSet<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    interfaces
        .into_iter()
        .map(|interface| interface.ip().to_canonical())
        .collect()
}

/// A listener whose clients are noted.
pub(crate) struct Noting<L> {
    listener: L,
    peers: Peers,
}

impl<L> Noting<L> {
    pub(crate) fn new(listener: L, peers: &Peers) -> Self {
        Noting {
            listener,
            peers: peers.clone(),
        }
    }
}

impl<L: Listener<Addr = SocketAddr>> Listener for Noting<L> {
    type Io = Noted<L::Io>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        let (stream, address) = self.listener.accept().await;
        let peer = address.ip().to_canonical();
        self.peers.come(peer, Instant::now());
        (
            Noted {
                stream,
                peer,
                peers: self.peers.clone(),
            },
            address,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection of theirs.
pub struct Noted<S> {
    stream: S,
    peer: IpAddr,
    peers: Peers,
}

impl<S> Drop for Noted<S> {
    fn drop(&mut self) {
        self.peers.go(self.peer, Instant::now());
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_known_while_it_is_connected_and_a_while_longer() {
        let (peers, now) = (Peers::default(), Instant::now());
        let peer = IpAddr::from([10, 0, 0, 7]);
        peers.come(peer, now);
        peers.come(peer, now);
        peers.go(peer, now);
        let later = now + 2 * REMEMBERED;
        assert_eq!(
            peers.addresses(later),
            BTreeSet::from([peer]),
            "one connection is open"
        );
        peers.go(peer, later);
        assert_eq!(
            peers.addresses(later + REMEMBERED / 2),
            BTreeSet::from([peer])
        );
        assert_eq!(peers.addresses(later + REMEMBERED), BTreeSet::new());
    }

    #[test]
    fn a_crowd_of_peers_takes_no_more_room_than_there_is() {
        let (peers, now) = (Peers::default(), Instant::now());
        (0..10_000_u32).for_each(|n| peers.come(IpAddr::from(n.to_be_bytes()), now));
        assert_eq!(peers.addresses(now).len(), MOST);
        (0..10_000_u32).for_each(|n| peers.go(IpAddr::from(n.to_be_bytes()), now));
        assert_eq!(peers.addresses(now + REMEMBERED).len(), 0);
    }
}
