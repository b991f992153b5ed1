//! A limit of concurrent requests, and its client.

use std::net::{IpAddr, SocketAddr};

use sluice_filter_config::{self as wire, Network};

use crate::Reply;

/// How many requests of one client a route serves at a time.
#[derive(Debug)]
pub struct ConnectionLimit {
    pub(super) zone: Box<str>,
    pub(super) most: u32,
    status: u16,
    exempt: Vec<Network>,
}

impl ConnectionLimit {
    /// Response to a client over the limit.
    #[must_use]
    pub fn refusal(&self) -> Reply {
        Reply {
            status: self.status,
            body: "too many requests of this client are in process\n",
        }
    }

    /// True if a client address is exempt.
    pub(super) fn exempts(&self, address: &[u8]) -> bool {
        let parse = || std::str::from_utf8(address).ok()?.parse::<IpAddr>().ok();
        !self.exempt.is_empty()
            && parse()
                .is_some_and(|address| self.exempt.iter().any(|network| network.contains(address)))
    }
}

impl From<wire::Connections> for ConnectionLimit {
    fn from(limit: wire::Connections) -> Self {
        ConnectionLimit {
            zone: limit.zone.into(),
            most: limit.most.get(),
            status: limit.status,
            exempt: limit.exempt,
        }
    }
}

/// The address alone of a host's `ip:port`. What is no such thing, the path of a socket, is one client.
#[must_use]
pub fn address(peer: &[u8]) -> Vec<u8> {
    let parsed = std::str::from_utf8(peer)
        .ok()
        .and_then(|text| text.parse::<SocketAddr>().ok());
    parsed.map_or_else(
        || peer.to_vec(),
        |peer| peer.ip().to_canonical().to_string().into_bytes(),
    )
}
