//! Networks in CIDR notation.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::Serialize;

/// Network in CIDR notation. The bits after the prefix are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Cidr(IpNet);

impl Cidr {
    /// The network of `address`. `None` when its family has fewer than `prefix_len` bits.
    #[must_use]
    pub fn new(address: IpAddr, prefix_len: u8) -> Option<Self> {
        let network = IpNet::new(address, prefix_len).ok()?;
        Some(Cidr(network.trunc()))
    }

    /// First address of the network.
    #[must_use]
    pub fn address(self) -> IpAddr {
        self.0.addr()
    }

    /// Length of the prefix in bits.
    #[must_use]
    pub fn prefix_len(self) -> u8 {
        self.0.prefix_len()
    }

    /// Tests for membership. An IPv4-mapped IPv6 address counts as the IPv4 address.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

/// Error of a text that is neither an IP address nor a CIDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidCidr;

impl fmt::Display for InvalidCidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an IP address or a CIDR such as 10.0.0.0/8")
    }
}

impl std::error::Error for InvalidCidr {}

/// Parses `10.0.0.0/8`, or an address alone, which is a network of one.
///
/// `ipnet`'s own parser demands a length and takes octets with leading zeros, which other readers take for octal
/// (CVE-2021-29922), so `std` parses the address.
impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let Some((address, length)) = text.split_once('/') else {
            let address: IpAddr = text.parse().map_err(|_| InvalidCidr)?;
            return Ok(Cidr(address.into()));
        };
        let address = address.parse().map_err(|_| InvalidCidr)?;
        let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse().ok().filter(|_| is_number);
        length
            .and_then(|length| Cidr::new(address, length))
            .ok_or(InvalidCidr)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_networks_and_addresses() {
        let cidr = |text: &str| text.parse::<Cidr>().map(|cidr| cidr.to_string());
        assert_eq!(cidr("10.1.2.3/8").as_deref(), Ok("10.0.0.0/8"));
        assert_eq!(cidr("::1").as_deref(), Ok("::1/128"));
        for bad in [
            "",
            "/8",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.0/+8",
            "::/129",
            "a/8",
            "10.0.0.0/8/8",
            "010.0.0.0/8",
        ] {
            assert_eq!(cidr(bad), Err(InvalidCidr), "{bad:?}");
        }
    }

    #[test]
    fn bits_after_the_prefix_are_zero() {
        let cidr = |address: &str, length| {
            Cidr::new(address.parse().unwrap(), length).map(|c| c.to_string())
        };
        assert_eq!(cidr("10.1.2.3", 8).unwrap(), "10.0.0.0/8");
        assert_eq!(cidr("10.1.2.3", 0).unwrap(), "0.0.0.0/0");
        assert_eq!(cidr("2001:db8::1", 32).unwrap(), "2001:db8::/32");
        assert_eq!(cidr("::1", 0).unwrap(), "::/0");
        assert_eq!((cidr("10.0.0.0", 33), cidr("::", 129)), (None, None));
    }

    #[test]
    fn an_ipv4_mapped_address_is_in_the_ipv4_network() {
        let network: Cidr = "10.0.0.0/8".parse().unwrap();
        for (address, is_in) in [
            ("10.255.0.1", true),
            ("::ffff:10.1.2.3", true),
            ("11.0.0.0", false),
            ("::10.1.2.3", false),
        ] {
            assert_eq!(
                network.contains(address.parse().unwrap()),
                is_in,
                "{address}"
            );
        }
        let all_v6: Cidr = "::/0".parse().unwrap();
        assert!(all_v6.contains("::1".parse().unwrap()));
        assert!(!all_v6.contains("10.1.2.3".parse().unwrap()));
    }
}
