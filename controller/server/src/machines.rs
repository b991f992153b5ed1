//! Machines that run Sluice: this one, and those of connected data planes.
//!
//! ```text
//!   connections to --xds-address --Peers--+
//!   interfaces of this machine -----------+--follow--> Event::Machines --> addresses that no endpoint may have
//! ```
//!
//! Addresses in objects are found by the translation itself.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluice_source::Event;
use tokio::sync::Notify;
use tokio::sync::mpsc::WeakUnboundedSender;

/// Interval between two looks at the interfaces.
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// A data plane that is not connected serves on, and comes back: so long it is remembered.
const KEPT_AFTER_DISCONNECT: Duration = Duration::from_mins(5);
/// Without TLS anybody can connect.
const MAX_PEERS: usize = 4096;

/// Addresses of data planes that are connected, or were lately.
#[derive(Clone, Debug, Default)]
pub struct Peers(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    all: Mutex<BTreeMap<IpAddr, Peer>>,
    changed: Notify,
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

    pub(crate) fn connected(&self, peer: IpAddr, now: Instant) {
        let mut all = self.all();
        if let Some(known) = all.get_mut(&peer) {
            known.open += 1;
        } else if all.len() < MAX_PEERS {
            all.insert(peer, Peer { open: 1, last: now });
            self.0.changed.notify_one();
        }
    }

    pub(crate) fn disconnected(&self, peer: IpAddr, now: Instant) {
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
        all.retain(|_, peer| {
            peer.open > 0 || now.duration_since(peer.last) < KEPT_AFTER_DISCONNECT
        });
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
                () = self.0.changed.notified() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_known_while_it_is_connected_and_a_while_longer() {
        let (peers, now) = (Peers::default(), Instant::now());
        let peer = IpAddr::from([10, 0, 0, 7]);
        peers.connected(peer, now);
        peers.connected(peer, now);
        peers.disconnected(peer, now);
        let later = now + 2 * KEPT_AFTER_DISCONNECT;
        assert_eq!(
            peers.addresses(later),
            BTreeSet::from([peer]),
            "one connection is open"
        );
        peers.disconnected(peer, later);
        assert_eq!(
            peers.addresses(later + KEPT_AFTER_DISCONNECT / 2),
            BTreeSet::from([peer])
        );
        assert_eq!(
            peers.addresses(later + KEPT_AFTER_DISCONNECT),
            BTreeSet::new()
        );
    }

    #[test]
    fn a_crowd_of_peers_takes_no_more_room_than_there_is() {
        let (peers, now) = (Peers::default(), Instant::now());
        (0..10_000_u32).for_each(|n| peers.connected(IpAddr::from(n.to_be_bytes()), now));
        assert_eq!(peers.addresses(now).len(), MAX_PEERS);
        (0..10_000_u32).for_each(|n| peers.disconnected(IpAddr::from(n.to_be_bytes()), now));
        assert_eq!(peers.addresses(now + KEPT_AFTER_DISCONNECT).len(), 0);
    }
}
