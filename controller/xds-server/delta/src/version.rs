//! The version of a resource: a hash of what is sent.

use std::fmt;

use sha2::{Digest, Sha256};

/// Equal for equal bytes, also across restarts, so that a client that reconnects is not sent what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(u64);

impl Version {
    /// Of a resource.
    #[must_use]
    pub fn hash(bytes: &[u8]) -> Self {
        let hash = Sha256::digest(bytes);
        Version(
            hash.iter()
                .take(8)
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }

    /// `None` for what no `Version` prints, such as a version from another control plane.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(text, 16)
            .ok()
            .filter(|_| hex)
            .map(Version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_survives_the_wire_and_foreign_ones_are_none() {
        let version = Version::hash(b"bytes");
        assert_eq!(Version::parse(&version.to_string()), Some(version));
        for foreign in ["", "1", "+000000000000001", "2026-01-01T00:00"] {
            assert_eq!(Version::parse(foreign), None, "{foreign:?}");
        }
    }
}
