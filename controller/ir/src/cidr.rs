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

    /// Networks that have the addresses of this one that are in none of the others; `None`: more than `most`.
    #[must_use]
    pub fn without(self, others: &[Cidr], most: usize) -> Option<Vec<Cidr>> {
        let inside: Vec<Cidr> = others
            .iter()
            .copied()
            .filter(|it| it.overlaps(self))
            .collect();
        if inside.is_empty() {
            return (most > 0).then(|| vec![self]);
        }
        if inside.iter().any(|other| other.0.contains(&self.0)) {
            return Some(Vec::new());
        }
        // Something smaller is inside, so there are halves.
        let halves = self.0.subnets(self.prefix_len() + 1).ok()?;
        let mut rest = Vec::new();
        for half in halves.map(Cidr) {
            rest.extend(half.without(&inside, most - rest.len())?);
        }
        Some(rest)
    }

    fn overlaps(self, other: Cidr) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
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
    fn what_is_left_of_a_network_is_what_no_other_has() {
        let left = |network: &str, others: &[&str], most| {
            let others: Vec<Cidr> = others.iter().map(|it| it.parse().unwrap()).collect();
            let left = network.parse::<Cidr>().unwrap().without(&others, most)?;
            let left: Vec<String> = left.iter().map(ToString::to_string).collect();
            Some(left.join(" "))
        };
        for (network, others, expected) in [
            ("10.0.0.0/8", &[][..], "10.0.0.0/8"),
            ("10.0.0.0/8", &["11.0.0.0/8", "::/0"], "10.0.0.0/8"),
            ("10.0.0.0/8", &["10.0.0.0/8"], ""),
            ("10.0.0.0/8", &["0.0.0.0/0"], ""),
            ("10.0.0.0/30", &["10.0.0.1"], "10.0.0.0/32 10.0.0.2/31"),
            (
                "10.0.0.0/30",
                &["10.0.0.1", "10.0.0.2"],
                "10.0.0.0/32 10.0.0.3/32",
            ),
            ("10.0.0.0/30", &["10.0.0.0/31", "10.0.0.2/31"], ""),
            ("::/126", &["::2", "::3"], "::/127"),
        ] {
            assert_eq!(
                left(network, others, 9).as_deref(),
                Some(expected),
                "{network}"
            );
        }
        assert_eq!(left("10.0.0.0/8", &["10.0.0.1"], 23), None);
        assert!(left("10.0.0.0/8", &["10.0.0.1"], 24).is_some());
        assert_eq!(left("::/0", &["::1"], 127), None);
        assert_eq!(left("10.0.0.0/8", &[], 0), None);
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
