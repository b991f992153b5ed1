//! Versions of the tables: a sequence for people, a content hash for the decision.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A version of the tables, written `SEQUENCE-HASH`, for example `12-00f3a1…` (32 hexadecimal digits).
///
/// Two versions are the same when their content hashes are: a controller that restarts counts from one again, and
/// a filter that already holds the same tables has nothing to fetch.
#[derive(Clone, Copy, Debug)]
pub struct Version {
    sequence: u64,
    content: u128,
}

impl Version {
    /// `sequence` counts the publications of one controller; `content` is the hash of the tables.
    #[must_use]
    pub const fn new(sequence: u64, content: u128) -> Self {
        Version { sequence, content }
    }

    /// The number of the publication, within one run of one controller.
    #[must_use]
    pub const fn sequence(self) -> u64 {
        self.sequence
    }

    /// The hash of the tables.
    #[must_use]
    pub const fn content(self) -> u128 {
        self.content
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

impl Eq for Version {}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:032x}", self.sequence, self.content)
    }
}

/// A text that is not a [`Version`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidVersion(String);

impl fmt::Display for InvalidVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "version: expected SEQUENCE-HASH with 32 hexadecimal digits, got {:?}",
            self.0
        )
    }
}

impl std::error::Error for InvalidVersion {}

impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let parse = || {
            let (sequence, content) = text.split_once('-')?;
            let plain = |s: &str| s.bytes().all(|b| b.is_ascii_hexdigit());
            let exact = content.len() == 32 && plain(content) && plain(sequence);
            exact.then_some(())?;
            Some(Version::new(
                sequence.parse().ok()?,
                u128::from_str_radix(content, 16).ok()?,
            ))
        };
        parse().ok_or_else(|| InvalidVersion(text.chars().take(80).collect()))
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides_equality_not_the_sequence() {
        assert_eq!(Version::new(1, 5), Version::new(9, 5));
        assert_ne!(Version::new(1, 5), Version::new(1, 6));
    }

    #[test]
    fn junk_around_a_version_is_refused() {
        let good = Version::new(3, 0xab).to_string();
        assert_eq!(good.parse::<Version>().unwrap(), Version::new(3, 0xab));
        for bad in [
            format!(" {good}"),
            format!("{good} "),
            format!("+{good}"),
            "3".into(),
            "-".into(),
        ] {
            assert!(bad.parse::<Version>().is_err(), "{bad:?}");
        }
    }
}
