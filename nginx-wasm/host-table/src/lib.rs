//! Hosts and paths of an nginx whose configuration does not name them.
//!
//! ```text
//!   controller --nginx.conf--> one server, one named location for each profile     a new one is a reload
//!       \-------HostTable----> the module: host, path --> profile, route           a new one is not
//! ```
//!
//! A profile is a location without its path and without the id of its route: timeouts, buffers, headers, and whatever else nginx fixes
//! when it loads its configuration. Most paths of a cluster have one of a few.
//!
//! [`HostTable`] is the wire format, and [`Hosts`] what the module looks things up in. A lookup finds what `server {}` and
//! `location {}` would find: the exact name, else a wildcard of one label, else all other hosts; there the exact path, else
//! the longest prefix. Patterns are not in a table: hosts that have them stay in nginx.conf.

mod hosts;
mod longest_prefix;
pub mod variables;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use hosts::{Found, Hosts};

/// Named location of nginx.conf for requests that are for no path of the table.
pub const NOWHERE: &str = "@sluice_nowhere";
/// The schema that this crate reads and writes. A table with another number is refused.
const SCHEMA: u32 = 1;

/// A table, as it is in its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostTable {
    schema: u32,
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

impl HostTable {
    /// A table.
    #[must_use]
    pub fn new(
        hosts: BTreeMap<String, Vec<PathEntry>>,
        certificates: BTreeMap<String, String>,
    ) -> Self {
        HostTable {
            schema: SCHEMA,
            hosts,
            certificates,
        }
    }

    /// The text of its file; the same for the same table.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Only string keys, strings and numbers: there is nothing in it that JSON cannot say.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It is no table of this schema.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidTable> {
        let table: HostTable =
            serde_json::from_slice(text).map_err(|error| InvalidTable(error.to_string()))?;
        match table.schema {
            SCHEMA => Ok(table),
            other => Err(InvalidTable(format!(
                "schema: expected {SCHEMA}, got {other}"
            ))),
        }
    }
}

/// A text that is no table of this schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTable(String);

impl fmt::Display for InvalidTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host table: {}", self.0)
    }
}

impl std::error::Error for InvalidTable {}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = r#"{"schema":1,"hosts":{"":[{"path":"/","profile":"p","route":"/"}],
        "a.test":[{"path":"/x","exact":true,"profile":"p","route":"a.test=/x","backend":"n/s/80"}]},
        "certificates":{"a.test":"host-1"}}"#;

    #[test]
    fn everything_that_a_table_can_say_survives_the_wire() {
        let table = HostTable::parse(EVERYTHING.as_bytes()).unwrap();
        let compact: String = EVERYTHING.split_whitespace().collect();
        assert_eq!(table.to_json(), compact);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (good, bad, said) in [
            ("\"exact\"", "\"regex\"", "regex"),
            ("\"schema\":1", "\"schema\":2", "expected 1, got 2"),
            ("\"certificates\"", "\"keys\"", "keys"),
        ] {
            let error = HostTable::parse(EVERYTHING.replace(good, bad).as_bytes());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
