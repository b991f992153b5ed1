//! Clients, by their address.

use std::net::{IpAddr, SocketAddr};

use sluice_filter_config::Network;

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

/// True if a client address is in one of these networks.
pub(crate) fn is_among(networks: &[Network], address: &[u8]) -> bool {
    let parse = || std::str::from_utf8(address).ok()?.parse::<IpAddr>().ok();
    !networks.is_empty()
        && parse().is_some_and(|address| networks.iter().any(|network| network.contains(address)))
}
