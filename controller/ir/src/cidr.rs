//! Networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// An address and how many of its bits count; the others are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr {
    address: IpAddr,
    length: u8,
}

impl Cidr {
    /// `None` when the family has fewer bits than `length`.
    #[must_use]
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(v4) if length <= 32 => {
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(length))
                    .unwrap_or_default();
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) if length <= 128 => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(length))
                    .unwrap_or_default();
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
            _ => return None,
        };
        Some(Cidr { address, length })
    }

    /// The first address of the network.
    #[must_use]
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// How many bits all its addresses share.
    #[must_use]
    pub fn length(self) -> u8 {
        self.length
    }

    /// True if the network contains an address. An IPv4-mapped IPv6 address is an IPv4 address.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        Cidr::new(address.to_canonical(), self.length())
            .is_some_and(|of_address| of_address == self)
    }
}

/// A text is no address, or no address and a length of its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidCidr;

impl fmt::Display for InvalidCidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected an IP address or a CIDR such as 10.0.0.0/8")
    }
}

impl std::error::Error for InvalidCidr {}

/// `10.0.0.0/8`, or an address alone.
impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| InvalidCidr)?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => longest,
            Some(digits) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().map_err(|_| InvalidCidr)?
            }
            Some(_) => return Err(InvalidCidr),
        };
        Cidr::new(address, length).ok_or(InvalidCidr)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_network_or_an_address() {
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
        ] {
            assert_eq!(cidr(bad), Err(InvalidCidr), "{bad:?}");
        }
    }

    #[test]
    fn bits_that_do_not_count_are_zero() {
        let cidr = |address: &str, length| {
            Cidr::new(address.parse().unwrap(), length).map(|c| c.to_string())
        };
        assert_eq!(cidr("10.1.2.3", 8).unwrap(), "10.0.0.0/8");
        assert_eq!(cidr("10.1.2.3", 0).unwrap(), "0.0.0.0/0");
        assert_eq!(cidr("2001:db8::1", 32).unwrap(), "2001:db8::/32");
        assert_eq!(cidr("::1", 0).unwrap(), "::/0");
        assert_eq!((cidr("10.0.0.0", 33), cidr("::", 129)), (None, None));
    }
}
