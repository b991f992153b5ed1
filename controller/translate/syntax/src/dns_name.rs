//! DNS names.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use sluice_ir::{Hostname, InvalidHostname};

/// A name in lower case. It is whole, also without a dot at its end, which is not kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DnsName(Arc<str>);

impl DnsName {
    /// Labels of letters, digits and inner hyphens.
    pub fn parse(text: &str) -> Result<Self, InvalidHostname> {
        let bare = text.strip_suffix('.').unwrap_or(text);
        Hostname::parse(bare)?;
        Ok(DnsName(bare.to_ascii_lowercase().into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address that is written in the place of a name.
    pub fn literal(&self) -> Option<IpAddr> {
        self.0.parse().ok()
    }
}

impl From<&Hostname> for DnsName {
    fn from(host: &Hostname) -> Self {
        DnsName(host.as_str().into())
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// True for the name of an object: RFC 1123, in lower case, at most 253 bytes.
#[must_use]
pub fn is_dns_name(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_at_the_end_says_nothing_and_an_address_is_seen() {
        let name = |text: &str| DnsName::parse(text).unwrap();
        assert_eq!(name("A.example."), name("a.example"));
        assert_eq!(
            name("192.0.2.1").literal(),
            Some("192.0.2.1".parse().unwrap())
        );
        assert_eq!(name("a.example").literal(), None);
        for bad in ["", ".", "a..b", "a b", "a..", "::1", "-a"] {
            assert!(DnsName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
