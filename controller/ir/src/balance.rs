//! How a backend chooses among its pods.

use std::num::{NonZeroU16, NonZeroU32};

use serde::Serialize;
use sluice_filter_config::{HashKey, LoadFactor, Percent};

use crate::is_default;

/// The load balancing algorithm of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBalance {
    /// The same endpoint for the same key.
    Hash {
        /// Hash key: texts, and variables that every data plane has.
        key: HashKey,
        /// Of so many endpoints that the key leads to, any.
        #[serde(skip_serializing_if = "is_default")]
        subset: Option<NonZeroU16>,
        /// No endpoint gets more than this percentage of the mean; the rest goes on to the next.
        #[serde(skip_serializing_if = "is_default")]
        load_factor: Option<LoadFactor>,
    },
    /// An algorithm that has no parameters, by its name in the filter.
    #[serde(untagged)]
    Named(&'static str),
}

impl LoadBalance {
    /// Each endpoint in turn.
    pub const ROUND_ROBIN: LoadBalance = LoadBalance::Named("round_robin");
}

impl Default for LoadBalance {
    fn default() -> Self {
        LoadBalance::ROUND_ROBIN
    }
}

/// How endpoints that are new or that fail are treated, whatever the algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthPolicy {
    /// Seconds in which a new endpoint grows to its share.
    #[serde(skip_serializing_if = "is_default")]
    pub slow_start: Option<NonZeroU32>,
    /// When one is left out for its failures.
    #[serde(skip_serializing_if = "is_default")]
    pub outlier_detection: Option<OutlierDetection>,
}

/// Leaving endpoints out for their failures: 5xx, and connections that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutlierDetection {
    /// Failures in a row.
    pub consecutive_failures: NonZeroU16,
    /// Seconds out, times the number of ejections so far.
    pub base_ejection_seconds: NonZeroU32,
    /// Percentage of the endpoints that may be out.
    pub max_ejection_percent: Percent,
    /// With less than this percentage left, all serve.
    pub panic_threshold: Percent,
}

/// A client stays with its pod, by a cookie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Affinity {
    /// Movement of clients when endpoints are added.
    pub mode: AffinityMode,
    /// The cookie.
    pub cookie: Cookie,
    /// A client whose pod failed gets another one, and another cookie.
    #[serde(skip_serializing_if = "is_default")]
    pub change_on_failure: bool,
}

/// Movement of clients when endpoints are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AffinityMode {
    /// Some do, so that all pods have their share.
    #[default]
    Balanced,
    /// None does while its pod is there.
    Persistent,
}

/// RFC 6265, as ingress-nginx writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// `Path`; `None` is the path of the Ingress that took the request.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<String>,
    /// `Domain`
    #[serde(skip_serializing_if = "is_default")]
    pub domain: Option<String>,
    /// `SameSite`
    #[serde(skip_serializing_if = "is_default")]
    pub same_site: Option<SameSite>,
    /// `SameSite=None` is left out for browsers that take it for `Strict`.
    #[serde(skip_serializing_if = "is_default")]
    pub conditional_same_site_none: bool,
    /// `Secure` also over plain http.
    #[serde(skip_serializing_if = "is_default")]
    pub secure: bool,
    /// `Expires`, in seconds from now.
    #[serde(skip_serializing_if = "is_default")]
    pub expires: Option<i64>,
    /// `Max-Age`, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub max_age: Option<i64>,
}

/// `SameSite` of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the variants are the values")]
pub enum SameSite {
    None,
    Lax,
    Strict,
}

/// When a second backend gets a request: the first rule that decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CanaryRules {
    /// By a header.
    #[serde(skip_serializing_if = "is_default")]
    pub header: Option<CanaryHeader>,
    /// By a cookie of this name: `always`, `never`.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie: Option<String>,
    /// So many ...
    pub weight: u32,
    /// ... of so many.
    pub total: u32,
}

/// A header that decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CanaryHeader {
    /// In lower case.
    pub name: String,
    /// Values that select the canary.
    pub value: CanaryValue,
}

/// Values of a header that select the canary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CanaryValue {
    /// `always`, and `never` keeps it away; any other decides nothing.
    AlwaysNever,
    /// This one; any other decides nothing.
    Exact(String),
    /// Those in which this is found; others decide nothing.
    Matches(String),
    /// A pattern that cannot be read: every request that has the header stays away.
    Invalid,
}
