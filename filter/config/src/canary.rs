//! Canaries: who is sent to another backend.

use serde::{Deserialize, Serialize};

/// A backend that takes a part of a route's requests. One that has no rule takes none.
///
/// Rules are asked in the order of ingress-nginx: header, cookie, weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// The id of the backend.
    pub backend: String,
    /// By a request header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderRule>,
    /// By the cookie of this name: `always` and `never`; anything else leaves it to the weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<String>,
    /// By chance. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Share>,
    /// Sessions that this canary honours.
    #[serde(default, skip_serializing_if = "CanaryAffinity::is_sticky")]
    pub affinity: CanaryAffinity,
}

/// `weight` out of `total` requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// This many ...
    pub weight: u32,
    /// ... out of this many. Less than 100 counts as 100, as in ingress-nginx.
    pub total: u32,
}

/// A rule on one request header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderRule {
    /// The header's name, in any case; `-` and `_` are the same, as in nginx's variables.
    pub name: String,
    /// Values that select the canary.
    #[serde(default, skip_serializing_if = "HeaderMatch::is_switch")]
    pub values: HeaderMatch,
}

/// The largest pattern of a canary, in bytes of the compiled program.
pub const LARGEST_PATTERN: usize = 16 << 10;
/// The most that matching may take, in bytes of the compiled program times bytes of the header's value: the engine takes at
/// most one step for each instruction and byte. A value that is too long for its pattern is no match. A step of the backtracking
/// engine costs as much as 32 bytes of a program and a byte of a value.
pub const MOST_MATCHING: usize = 4 << 20;

/// Values of a header that select the canary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderMatch {
    /// `always` takes it, `never` does not, anything else leaves it to the next rule.
    #[default]
    Switch,
    /// This value takes it, any other leaves it to the next rule.
    Exact(String),
    /// A regular expression of at most [`LARGEST_PATTERN`], searched anywhere, case-sensitive. One that cannot be compiled
    /// keeps every request that has the header on the primary, as in ingress-nginx.
    Pattern(String),
    /// Regular expressions of at most [`LARGEST_PATTERN`] together, each as [`HeaderMatch::Pattern`]: a value that all of them hold for.
    Patterns(Vec<HeaderPattern>),
    /// As [`HeaderMatch::Pattern`], for the backtracking engine: lookaround, backreferences and what else only PCRE knows. A value
    /// that takes more than [`MOST_MATCHING`] keeps its request on the primary, as in ingress-nginx.
    Backtracking(String),
    /// A pattern that the controller could not parse: the same as one that cannot be compiled.
    Invalid,
}

/// One of several regular expressions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderPattern {
    /// The regular expression.
    pub pattern: String,
    /// It holds where it is not found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub negated: bool,
}

/// Meaning of a session for a canary: `affinity-canary-behavior`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanaryAffinity {
    /// The canary has the primary's affinity, and a session that began on it stays on it.
    #[default]
    Sticky,
    /// The canary has only the affinity of its own backend.
    Legacy,
}

impl CanaryAffinity {
    fn is_sticky(&self) -> bool {
        *self == CanaryAffinity::Sticky
    }
}

impl HeaderMatch {
    fn is_switch(&self) -> bool {
        *self == HeaderMatch::Switch
    }
}
