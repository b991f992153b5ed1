//! A part of a table: the hosts whose names have the same hash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::InvalidTable;

/// The number of shards of a table.
pub const SHARDS: usize = 256;

/// A shard, as it is in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Paths by host: `a.test`, `*.b.test` for one label in front of it, or nothing for all other hosts.
    pub hosts: BTreeMap<String, Vec<PathEntry>>,
    /// Certificates, without the extension of their files, by the same names; those of nothing are for all other handshakes.
    pub certificates: BTreeMap<String, String>,
}

/// A path of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathEntry {
    /// Of the decoded and normalised path of a request: all of it, or its beginning.
    pub path: String,
    /// All of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Named location of nginx.conf.
    pub profile: String,
    /// Id of the route, for the filter.
    pub route: String,
    /// The backend that answers, unless the filter says that it is a canary.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub backend: String,
}

impl Shard {
    /// The text of its file; the same for the same shard.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Only string keys, strings and numbers: there is nothing in it that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It is no shard of this schema.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidTable> {
        serde_json::from_slice(text).map_err(|error| InvalidTable(error.to_string()))
    }
}

/// The number of the shard that has a name of a table. A wildcard is where the rest of a name behind its first label leads to.
#[must_use]
pub fn shard_of(name: &[u8]) -> usize {
    let name = name.strip_prefix(b"*").unwrap_or(name);
    // FNV-1a, folded.
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    usize::from((hash ^ (hash >> 32)) as u8)
}

/// The first 16 bytes of the SHA-256 of a content, as a number.
#[must_use]
pub fn content_hash(text: &[u8]) -> u128 {
    let digest = Sha256::digest(text);
    let bytes = digest.iter().take(16);
    bytes.fold(0, |hash, byte| hash << 8 | u128::from(*byte))
}

/// The same as 32 hexadecimal digits: the name of a shard with this content.
#[must_use]
pub fn content_name(text: &[u8]) -> String {
    format!("{:032x}", content_hash(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = r#"{"hosts":{"":[{"path":"/","profile":"p","route":"/"}],
        "a.test":[{"path":"/x","exact":true,"profile":"p","route":"a.test=/x","backend":"n/s/80"}]},
        "certificates":{"a.test":"host-1"}}"#;

    #[test]
    fn everything_that_a_shard_can_say_survives_the_wire() {
        let shard = Shard::parse(EVERYTHING.as_bytes()).unwrap();
        let compact: String = EVERYTHING.split_whitespace().collect();
        assert_eq!(shard.to_json(), compact);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (good, bad) in [("\"exact\"", "\"regex\""), ("\"certificates\"", "\"keys\"")] {
            let error = Shard::parse(EVERYTHING.replace(good, bad).as_bytes());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(bad.trim_matches('"')), "{error}");
        }
    }

    #[test]
    fn names_are_spread_and_a_wildcard_is_where_names_below_it_look() {
        let mut shards = [0; SHARDS];
        for n in 0..10_000 {
            shards[shard_of(format!("app-{n}.example.com").as_bytes())] += 1;
        }
        let most = shards.iter().max().unwrap();
        assert!((20..=80).contains(most), "{most}");
        assert_eq!(shard_of(b"*.b.test"), shard_of(b".b.test"));
    }
}
