//! The wire schema of the filter's plugin configuration.
//!
//! ```text
//!  controller                                            filter
//!  PluginConfig --> JSON --+-- checkpoint: on_configure --+--> PluginConfig::parse --> Tables
//!                          +-- log: HTTP long-poll -------+
//! ```
//!
//! One document type, two channels. The reader (the filter) owns the schema, the writer (the controller) uses it.
//! These types are wire types: nothing past `Tables::apply` in the filter's core keeps them.
//!
//! Absent on purpose: defaults that change a meaning, unknown fields that are skipped. A document that says
//! something this filter does not know is refused whole, so nothing is ever accepted and ignored.

mod version;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

pub use version::{InvalidVersion, Version};

/// The schema this crate reads and writes. A document with another number is refused.
pub const SCHEMA: u32 = 1;

/// The path that the controller serves the log on.
pub const LOG_PATH: &str = "/v1/plugin-config";

/// One document: what a checkpoint carries and what a long-poll answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginConfig {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// How the filter talks to this data plane. Only in a checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Where to long-poll for the log. Only in a checkpoint; without it the tables stay as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// The tables themselves, whole or as a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<Tables>,
}

/// The data plane that runs the filter: where it reads the location from and where it leaves its choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// Reads the route name, writes the request header `x-sluice-endpoint`.
    #[default]
    Envoy,
    /// As `Envoy`, in an Envoy of our own: writes `:sluice-endpoint`. No client can send a header of such a name, and
    /// Envoy sends none to an HTTP/1 pod, so nothing has to be taken away on the way in or out.
    ManagedEnvoy,
    /// Reads the variable `sluice_location`, writes the variable `sluice_endpoint`.
    Nginx,
}

/// Where the controller is, as the data plane knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Envoy: the name of a cluster. nginx: `unix:/path` or `host:port`.
    pub upstream: String,
    /// The `:authority` of the calls.
    pub authority: String,
}

/// The filter's tables: everything, or what changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tables {
    /// Replaces everything.
    Snapshot(Snapshot),
    /// Applies to exactly one version.
    Delta(Delta),
}

/// The whole tables at one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The version that this snapshot is.
    pub version: Version,
    /// By location id, as the data plane's route names it.
    pub locations: BTreeMap<String, Location>,
    /// By backend id.
    pub backends: BTreeMap<String, Backend>,
}

/// What changed between two versions. Values are whole: a changed backend comes with all its endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    /// The version this delta applies to; on any other it is refused and a snapshot asked for.
    pub base: Version,
    /// The version after it.
    pub version: Version,
    /// Locations added or replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub locations: BTreeMap<String, Location>,
    /// Backends added or replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backends: BTreeMap<String, Backend>,
    /// Locations that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_locations: Vec<String>,
    /// Backends that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_backends: Vec<String>,
}

/// What one location of the data plane does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// The id of the backend it forwards to.
    pub backend: String,
}

/// One service port: its endpoints and how to choose among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// The algorithm.
    pub load_balance: LoadBalance,
    /// How many candidates to name: the first attempt and every retry of the data plane.
    pub attempts: NonZeroU8,
    /// Empty means 503.
    pub endpoints: Vec<Endpoint>,
}

/// The balancing algorithm, with what only that algorithm needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LoadBalance {
    /// Each endpoint in turn.
    #[default]
    RoundRobin,
}

/// One pod, as the data plane reaches it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// `ip:port`, IPv6 in brackets.
    pub address: String,
}

impl PluginConfig {
    /// A document of this schema with nothing in it yet.
    #[must_use]
    pub fn empty() -> Self {
        PluginConfig { schema: SCHEMA, host: None, control: None, tables: None }
    }

    /// A document of the log: only tables.
    #[must_use]
    pub fn of(tables: Tables) -> Self {
        PluginConfig { tables: Some(tables), ..PluginConfig::empty() }
    }

    /// Reads a document; an error names the field, what was expected and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        let config: PluginConfig = serde_json::from_slice(bytes).map_err(|e| Unreadable(e.to_string()))?;
        match config.schema {
            SCHEMA => Ok(config),
            other => Err(Unreadable(format!("schema: expected {SCHEMA}, got {other}"))),
        }
    }

    /// The bytes that [`PluginConfig::parse`] reads; the same bytes for the same document.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        // Only string keys, integers and enums: there is nothing in the schema that JSON cannot say.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// A document that is not of this schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin configuration: {}", self.0)
    }
}

impl std::error::Error for Unreadable {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_survives_the_wire() {
        let endpoint = Endpoint { address: "[::1]:80".into() };
        let backend = Backend {
            load_balance: LoadBalance::RoundRobin,
            attempts: NonZeroU8::MIN,
            endpoints: vec![endpoint],
        };
        let tables = Tables::Snapshot(Snapshot {
            version: Version::new(7, 0xfeed),
            locations: [("a/".to_owned(), Location { backend: "ns/s/80".into() })].into(),
            backends: [("ns/s/80".to_owned(), backend)].into(),
        });
        let document = PluginConfig::of(tables);
        assert_eq!(PluginConfig::parse(&document.to_json()).unwrap(), document);
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let error = PluginConfig::parse(br#"{"schema":1,"surprise":true}"#).unwrap_err().to_string();
        assert!(error.contains("surprise"), "{error}");
    }

    #[test]
    fn another_schema_is_refused() {
        let error = PluginConfig::parse(br#"{"schema":2}"#).unwrap_err().to_string();
        assert_eq!(error, "plugin configuration: schema: expected 1, got 2");
    }
}
