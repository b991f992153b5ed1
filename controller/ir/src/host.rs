//! Names of hosts, and which of them a server answers to.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A DNS name in lower case, without a wildcard: what RFC 1123 and Kubernetes allow in a host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Hostname(Arc<str>);

/// A text that is not a host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidHostname;

impl Hostname {
    /// Accepts labels of letters, digits and inner hyphens, 63 bytes each and 253 together.
    pub fn parse(text: &str) -> Result<Self, InvalidHostname> {
        let lower = text.to_ascii_lowercase();
        let valid = lower.len() <= 253 && lower.split('.').all(is_label);
        if valid {
            Ok(Hostname(lower.into()))
        } else {
            Err(InvalidHostname)
        }
    }

    /// The name in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_label(label: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    (1..=63).contains(&label.len())
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Name of a server: the requests that it answers, by their Host header.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerName {
    /// Every host that no other server names.
    CatchAll,
    /// One host.
    Exact(Hostname),
    /// One more label in front of this name: `*.example.com`.
    Wildcard(Hostname),
}

impl ServerName {
    /// Parses an Ingress host: empty, a name, or a name with one leading `*.`.
    pub fn parse(host: &str) -> Result<Self, InvalidHostname> {
        if host.is_empty() {
            return Ok(ServerName::CatchAll);
        }
        match host.strip_prefix("*.") {
            Some(suffix) => Hostname::parse(suffix).map(ServerName::Wildcard),
            None => Hostname::parse(host).map(ServerName::Exact),
        }
    }

    /// Suffix of the wildcard that covers this host.
    #[must_use]
    pub fn wildcard_suffix(&self) -> Option<Hostname> {
        let ServerName::Exact(host) = self else {
            return None;
        };
        // What follows a dot in a name is one.
        host.as_str()
            .split_once('.')
            .map(|(_, suffix)| Hostname(suffix.into()))
    }

    /// True if it is the name of one host.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        matches!(self, ServerName::Exact(_))
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerName::CatchAll => f.write_str("_"),
            ServerName::Exact(name) => f.write_str(name.as_str()),
            ServerName::Wildcard(suffix) => write!(f, "*.{}", suffix.as_str()),
        }
    }
}

impl Serialize for ServerName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_is_one_leading_star_label() {
        assert_eq!(ServerName::parse("*.a.b").unwrap().to_string(), "*.a.b");
        for bad in [
            "*", "*.", "a.*.b", "**.a", "*a.b", "a b", "a..b", "-a", "a_b", "a\n", "$host", "a.b.",
        ] {
            assert_eq!(ServerName::parse(bad), Err(InvalidHostname), "{bad:?}");
        }
    }

    #[test]
    fn host_names_are_compared_in_lower_case() {
        assert_eq!(
            ServerName::parse("Shop.Example").unwrap(),
            ServerName::parse("shop.example").unwrap()
        );
    }
}
