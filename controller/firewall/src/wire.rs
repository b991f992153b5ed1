//! Messages between the controller and the process, and between those of the controller that send them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sluice_xds::firewall::RuleSet;

/// Path of [`Rules`].
pub(crate) const RULES_PATH: &str = "/rules";

/// All rules that requests may name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rules {
    pub(crate) sets: BTreeMap<String, RuleSet>,
}

/// Result of loading them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loaded {
    /// Why there is no engine.
    pub(crate) no_engine: Option<String>,
    /// The OWASP Core Rule Set is installed.
    pub(crate) has_core_rules: bool,
    /// Rules that the engine does not take, and what it says.
    pub(crate) refused: BTreeMap<String, Refused>,
}

/// The engine does not take rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// Its words.
    pub(crate) reason: String,
    /// It is the operator's rules that it does not take.
    pub(crate) is_of_all: bool,
}

/// Rules that the process shall have, with a number that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) number: u64,
    pub(crate) rules: Arc<Rules>,
}

/// Answer of the process to rules with a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) number: u64,
    pub(crate) loaded: Arc<Loaded>,
}
