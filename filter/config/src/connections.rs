//! How many requests of one client may be in process at a time.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Counted for each client address, in all workers of a data plane together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    /// Routes with the same zone are counted together.
    pub zone: String,
    /// So many are served.
    pub most: NonZeroU32,
    /// The status of those that are too much.
    pub status: u16,
    /// Client networks that are not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exempt: Vec<Network>,
}

/// `10.0.0.0/8`: the addresses whose first bits are these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    address: IpAddr,
    length: u8,
}

/// A text that names no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidNetwork(String);

impl Network {
    /// `None` when an address of this family has fewer bits than `length`.
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (length <= bits).then(|| Network {
            address: masked(address, length),
            length,
        })
    }

    /// True if the network contains an address. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        masked(address.to_canonical(), self.length) == self.address
    }
}

/// The first bits of an address, and zeros.
fn masked(address: IpAddr, length: u8) -> IpAddr {
    let without = |bits: u8| u32::from(bits.saturating_sub(length));
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(without(32)).unwrap_or_default();
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(without(128)).unwrap_or_default();
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let parse = || {
            let (address, length) = text.split_once('/')?;
            Network::new(address.parse().ok()?, length.parse().ok()?)
        };
        parse().ok_or_else(|| InvalidNetwork(text.chars().take(64).collect()))
    }
}

impl TryFrom<String> for Network {
    type Error = InvalidNetwork;

    fn try_from(text: String) -> Result<Self, InvalidNetwork> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> String {
        network.to_string()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl fmt::Display for InvalidNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a network such as 10.0.0.0/8, got {:?}", self.0)
    }
}

impl std::error::Error for InvalidNetwork {}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        network
            .parse::<Network>()
            .unwrap()
            .contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_holds_the_addresses_that_begin_like_it() {
        assert!(contains("10.1.2.3/8", "10.255.0.1") && !contains("10.0.0.0/8", "11.0.0.1"));
        assert!(
            contains("2001:db8::/32", "2001:db8:1::1") && !contains("2001:db8::/32", "2001:db9::1")
        );
        assert!(contains("192.0.2.7/32", "192.0.2.7") && !contains("192.0.2.7/32", "192.0.2.8"));
    }

    #[test]
    fn families_do_not_meet_but_for_ipv4_in_the_words_of_ipv6() {
        assert!(contains("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(!contains("0.0.0.0/0", "2001:db8::1") && !contains("::/0", "10.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for bad in ["10.0.0.0", "10.0.0.0/33", "::/129", "ten/8", ""] {
            let error = bad.parse::<Network>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("expected a network such as 10.0.0.0/8, got {bad:?}")
            );
        }
    }
}
