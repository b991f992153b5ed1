//! Endpoints as the cases write them.

use std::net::IpAddr;

use serde::Deserialize;
use sluice_filter_config as wire;

/// `ip:port`, or its two parts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Endpoint {
    Text(String),
    Parts { address: String, port: Port },
}

/// A number, or the text of one.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Port {
    Number(u16),
    Text(String),
}

impl Endpoint {
    /// `ip:port`, IPv6 in brackets. A letter or a name stands for an address of its own.
    pub(super) fn address(&self) -> String {
        match self {
            Endpoint::Text(text) if text.contains(':') => text.clone(),
            Endpoint::Text(name) => format!("{}:80", symbolic(name)),
            Endpoint::Parts { address, port } => {
                let port = match port {
                    Port::Number(port) => port.to_string(),
                    Port::Text(port) => port.clone(),
                };
                match address.parse::<IpAddr>() {
                    Ok(IpAddr::V6(_)) => format!("[{address}]:{port}"),
                    _ => format!("{address}:{port}"),
                }
            }
        }
    }
}

/// All addresses, in order.
pub(super) fn addresses(endpoints: &[Endpoint]) -> Vec<String> {
    endpoints.iter().map(Endpoint::address).collect()
}

/// As the filter is told of them.
pub(super) fn on_the_wire(addresses: &[String]) -> Vec<wire::Endpoint> {
    addresses
        .iter()
        .map(|address| wire::Endpoint::at(address.as_str()))
        .collect()
}

/// An address of the test network for a name, the same every time.
fn symbolic(name: &str) -> String {
    let bytes = name.bytes().fold(0u16, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    let [high, low] = bytes.to_be_bytes();
    format!("198.18.{high}.{low}")
}
