//! Load balancing: the algorithm of a backend, and how it treats endpoints that are new or fail.

use std::num::{NonZeroU16, NonZeroU32};

use serde::Serialize;
use sluice_filter_config::{HashKey, LoadFactor, Percent};

use crate::{HealthCheck, is_default};

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

    /// Of two endpoints the one with fewer requests under way.
    pub const LEAST_CONN: LoadBalance = LoadBalance::Named("least_conn");
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
    /// Requests of the controller by which endpoints are left out, too.
    #[serde(skip_serializing_if = "is_default")]
    pub check: Option<Box<HealthCheck>>,
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
