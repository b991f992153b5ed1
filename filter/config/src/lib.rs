//! The wire schema of the filter's plugin configuration.
//!
//! ```text
//!  controller                                            filter
//!  PluginConfig --> JSON --+-- bootstrap configuration: on_configure --+--> PluginConfig::parse --> Tables
//!                          +-- log: HTTP long-poll -------+
//! ```
//!
//! One document type, two channels. The reader (the filter) owns the schema, the writer (the controller) uses it.
//! These types are wire types: nothing past `Tables::apply` in the filter's core keeps them.
//!
//! Absent on purpose: defaults that change a meaning, unknown fields that are skipped. A document that says
//! something this filter does not know is refused whole, so nothing is ever accepted and ignored.

mod affinity;
mod backend;
mod canary;
mod connections;
mod hash;
pub mod host_contract;
mod load_balance;
mod outlier;
mod rates;
mod rewriting;
mod route;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

pub use affinity::{Affinity, AffinityMode, Cookie, SameSite};
pub use backend::{Backend, Endpoint};
pub use canary::{
    Canary, CanaryAffinity, HeaderMatch, HeaderPattern, HeaderRule, LARGEST_PATTERN, MOST_MATCHING,
    Share,
};
pub use connections::{Connections, InvalidNetwork, Network};
pub use hash::{HashKey, KeyPart, MOST_VARIABLES, Plain, UnknownVariable, Variable, variable_name};
pub use load_balance::{LARGEST_SUBSET, LoadBalance, Parameters};
pub use outlier::{LoadFactor, OutOfRange, Outlier, Percent};
pub use rates::{Rate, Rates};
pub use rewriting::{Replaced, ReplacedPattern, ReplacedText, Rewriting, SubstitutionPart};
pub use route::Route;
pub use version::{InvalidVersion, Version};

/// The schema this crate reads and writes. A document with another number is refused.
pub const SCHEMA: u32 = 1;

/// The path that the controller serves the log on.
pub const LOG_PATH: &str = "/v1/plugin-config";

/// Header of its responses to nginx: the hash of the index of the host table that goes with the version, 32 hexadecimal digits.
pub const HOST_TABLE_HEADER: &str = "sluice-host-table";

/// One document: what a bootstrap configuration carries and what a long-poll answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de>"))]
pub struct PluginConfig<T = Tables> {
    /// Always [`SCHEMA`].
    pub schema: u32,
    /// How the filter talks to this data plane. Only in a bootstrap configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// The zone that the data plane runs in. Only in a bootstrap configuration; without it Envoy's own locality counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Address for long polls of the log, in a bootstrap configuration only. Without it the tables stay as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// The tables themselves, whole or as a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<T>,
}

/// The data plane that runs the filter: where it reads the route from and where it leaves its choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    /// Reads the route name, writes the request header `x-sluice-endpoint`.
    #[default]
    Envoy,
    /// As `Envoy`, in an Envoy of our own: writes `:sluice-endpoint`. No client can send a header of such a name, and
    /// Envoy sends none to an HTTP/1 pod, so nothing has to be taken away on the way in or out.
    ManagedEnvoy,
    /// Reads the variable `sluice_route`, writes the variable `sluice_endpoint`.
    Nginx,
    /// As `Nginx`, in Kong's ngx_wasm_module. It resumes a request only with the answer of that request's own call, and gives
    /// each retry a context of its own: `sluice_route` is empty there, and the variable `sluice_ticket` tells whose it is.
    NgxWasm,
}

impl Host {
    /// True if the data plane's variables are nginx's.
    #[must_use]
    pub fn is_nginx(self) -> bool {
        matches!(self, Host::Nginx | Host::NgxWasm)
    }
}

/// Address of the controller, as the data plane knows it.
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
#[allow(
    clippy::large_enum_variant,
    reason = "there is one at a time, on its way"
)]
pub enum Tables<S = Snapshot> {
    /// Replaces everything.
    Snapshot(S),
    /// Applies to exactly one version.
    Delta(Delta),
}

/// The whole tables at one version.
pub type Snapshot = SnapshotOf<BTreeMap<String, Route>, BTreeMap<String, Backend>>;

/// A [`Snapshot`] with these maps: a writer that has the values as JSON need not read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnapshotOf<R, B> {
    /// The version that this snapshot is.
    pub version: Version,
    /// By route id, as the data plane's route names it.
    pub routes: R,
    /// By backend id.
    pub backends: B,
    /// Hosts that are named exactly, in lower case. Only for an Envoy that looks for each by itself.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
}

/// Changes between two versions. Values are whole: a changed backend comes with all its endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    /// The version this delta applies to; on any other it is refused and a snapshot asked for.
    pub base: Version,
    /// The version after it.
    pub version: Version,
    /// Routes added or replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub routes: BTreeMap<String, Route>,
    /// Backends added or replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub backends: BTreeMap<String, Backend>,
    /// Routes that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_routes: Vec<String>,
    /// Backends that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_backends: Vec<String>,
    /// Hosts that are new.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
    /// Hosts that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_hosts: Vec<String>,
}

impl Delta {
    /// Between these versions, with nothing in it yet.
    #[must_use]
    pub fn between(base: Version, version: Version) -> Self {
        Delta {
            base,
            version,
            routes: BTreeMap::new(),
            backends: BTreeMap::new(),
            removed_routes: Vec::new(),
            removed_backends: Vec::new(),
            hosts: BTreeSet::new(),
            removed_hosts: Vec::new(),
        }
    }
}

impl<T> PluginConfig<T> {
    /// A document of the log: only tables.
    #[must_use]
    pub fn with_tables(tables: T) -> Self {
        PluginConfig {
            schema: SCHEMA,
            host: None,
            zone: None,
            control: None,
            tables: Some(tables),
        }
    }
}

impl PluginConfig {
    /// A document of this schema with nothing in it yet.
    #[must_use]
    pub fn empty() -> Self {
        PluginConfig {
            schema: SCHEMA,
            host: None,
            zone: None,
            control: None,
            tables: None,
        }
    }

    /// Reads a document; an error names the field, what was expected and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidConfig> {
        let config: PluginConfig =
            serde_json::from_slice(bytes).map_err(|e| InvalidConfig(e.to_string()))?;
        match config.schema {
            SCHEMA => Ok(config),
            other => Err(InvalidConfig(format!(
                "schema: expected {SCHEMA}, got {other}"
            ))),
        }
    }

    /// Reads a document of the log.
    pub fn parse_tables(bytes: &[u8]) -> Result<Tables, InvalidConfig> {
        let config = PluginConfig::parse(bytes)?;
        config
            .tables
            .ok_or_else(|| InvalidConfig("expected `tables`, got none".to_owned()))
    }
}

impl<T: Serialize> PluginConfig<T> {
    /// The bytes that [`PluginConfig::parse`] reads; the same bytes for the same document.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        // Only string keys, integers and enums: there is nothing in the schema that JSON cannot say.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// A document that is not of this schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidConfig(String);

impl fmt::Display for InvalidConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin configuration: {}", self.0)
    }
}

impl std::error::Error for InvalidConfig {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_survives_the_wire() {
        let backend = Backend::round_robin("ns-s-80", vec![Endpoint::at("[::1]:80")]);
        let tables = Tables::Snapshot(Snapshot {
            version: Version::new(7, 0xfeed),
            routes: [("a/".to_owned(), Route::to("ns/s/80"))].into(),
            backends: [("ns/s/80".to_owned(), backend)].into(),
            hosts: BTreeSet::new(),
        });
        let document = PluginConfig::with_tables(tables);
        assert_eq!(PluginConfig::parse(&document.to_json()).unwrap(), document);
    }

    /// As JSON, because that is what both sides agree on: every field of the schema once.
    const EVERYTHING: &str = r#"{"schema":1,"host":"nginx","zone":"a","tables":{"snapshot":{
        "version":"1-000000000000000000000000000000aa",
        "routes":{"h/":{"backend":"n/s/80","canaries":[
            {"backend":"n/a/80","header":{"name":"X-Canary"},"cookie":"c","weight":{"weight":5,"total":1000}},
            {"backend":"n/b/80","header":{"name":"x","values":{"exact":"eu"}},"affinity":"legacy"},
            {"backend":"n/c/80","header":{"name":"x","values":{"pattern":"^eu"}}},
            {"backend":"n/d/80","header":{"name":"x","values":{"patterns":[{"pattern":"^eu"},{"pattern":"b$","negated":true}]}}}],
            "session_path":"/",
            "connections":{"zone":"n/i","most":8,"status":503,"exempt":["10.0.0.0/8","2001:db8::/32"]},
            "rewriting":{"redirects":{"from":[{"literal":"http://a/"}],"to":[{"variable":"scheme"},{"literal":"://b/"}]},
                "cookie_domains":{"pattern":"(a)","any_case":true,"to":[{"group":1},{"text":[{"literal":"b"}]}]},
                "cookie_paths":{"from":[{"literal":"/"}],"to":[{"literal":"/b/"}]}}}},
        "backends":{"n/s/80":{"name":"n-s-80",
            "load_balance":{"bounded_chash":{"key":[{"literal":"a"},{"variable":"arg_x"}],"load_factor":125}},
            "affinity":{"mode":"persistent","cookie":{"name":"route","expires":-1,"max_age":3600,"path":"/p",
                "domain":"d","secure":false,"same_site":"none","conditional_same_site_none":true},
                "change_on_failure":true},
            "slow_start":30,"outlier":{"consecutive_5xx":5,"base_ejection":30,"max_ejected":10,"panic_threshold":50},
            "prefer_zone":true,"attempts":3,
            "endpoints":[{"address":"10.0.0.1:80","weight":2,"zones":["a","b"],"draining":true,"backup":true,"unhealthy":true},{"address":"[::1]:80"}]}},
        "hosts":["a.test"]}}}"#;

    #[test]
    fn everything_the_schema_can_say_survives_the_wire_in_the_same_words() {
        let document = PluginConfig::parse(EVERYTHING.as_bytes()).unwrap();
        let compact: String = EVERYTHING.split_whitespace().collect();
        assert_eq!(String::from_utf8(document.to_json()).unwrap(), compact);
    }

    #[test]
    fn what_no_filter_could_do_is_refused() {
        for (good, bad) in [
            ("\"load_factor\":125", "\"load_factor\":100"),
            ("arg_x", "no_such_variable"),
            ("\"weight\":2", "\"weight\":0"),
            ("\"max_ejected\":10", "\"max_ejected\":101"),
            ("\"persistent\"", "\"sometimes\""),
            ("\"slow_start\"", "\"warm_up\""),
            ("\"most\":8", "\"most\":0"),
            ("10.0.0.0/8", "10.0.0.0/33"),
            ("\"variable\":\"scheme\"", "\"variable\":\"upstream_addr\""),
            ("\"cookie_paths\"", "\"cookie_flags\""),
        ] {
            assert!(EVERYTHING.contains(good));
            let document = EVERYTHING.replace(good, bad);
            assert!(PluginConfig::parse(document.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let error = PluginConfig::parse(br#"{"schema":1,"surprise":true}"#)
            .unwrap_err()
            .to_string();
        assert!(error.contains("surprise"), "{error}");
    }

    #[test]
    fn another_schema_is_refused() {
        let error = PluginConfig::parse(br#"{"schema":2}"#)
            .unwrap_err()
            .to_string();
        assert_eq!(error, "plugin configuration: schema: expected 1, got 2");
    }
}
