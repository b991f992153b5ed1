//! Canary rules of ingress-nginx: header, then cookie, then weight.

use serde::Serialize;

use crate::is_default;

/// Rules by which a canary takes a request, in this order: the first one that decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CanaryRules {
    /// By a header.
    #[serde(skip_serializing_if = "is_default")]
    pub header: Option<CanaryHeader>,
    /// By a cookie of this name: `always`, `never`.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie: Option<String>,
    /// Share of the requests that no rule decides, out of `total`.
    pub weight: u32,
    /// Denominator of `weight`.
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

/// A regular expression that a value is searched with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValuePattern {
    /// Without lookaround.
    pub pattern: String,
    /// It holds where it is not found.
    #[serde(skip_serializing_if = "is_default")]
    pub negated: bool,
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
    /// Those that all of these hold for; others decide nothing.
    MatchesAll(Vec<ValuePattern>),
    /// As [`CanaryValue::Matches`], with what takes a backtracking engine.
    Backtracking(String),
    /// A pattern that cannot be read: every request that has the header stays away.
    Invalid,
}
