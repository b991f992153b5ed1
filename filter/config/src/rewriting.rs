//! Rewriting of upstream locations in responses.

use serde::{Deserialize, Serialize};

use crate::HashKey;

/// Of the responses of pods. nginx does it itself and ignores this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rewriting {
    /// Prefix of `Location` and of the URL in `Refresh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<Replaced>,
    /// The whole `Domain` of cookies, in any case and behind a dot or not. These texts have no dot in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_domains: Option<Replaced>,
    /// Prefix of `Path` in cookies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_paths: Option<Replaced>,
}

/// Replacement of what the upstream says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Replaced {
    /// One text for another.
    Text(ReplacedText),
    /// The whole of what a pattern is found in.
    Pattern(ReplacedPattern),
}

/// One text for another, each with variables of the request in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacedText {
    /// Text from the upstream.
    pub from: HashKey,
    /// Text for the client.
    pub to: HashKey,
}

/// The whole of what a pattern is found in, for a text with its groups. A cookie's `Domain` has its dot, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacedPattern {
    /// A regular expression of at most [`LARGEST_PATTERN`](crate::LARGEST_PATTERN), of bytes. One that cannot be compiled is
    /// found nowhere.
    pub pattern: String,
    /// Letters have any case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_case: bool,
    /// It is for the backtracking engine, which knows what PCRE knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backtracking: bool,
    /// Text for the client.
    pub to: Vec<SubstitutionPart>,
}

/// A part of what takes the place of a text that a pattern is found in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubstitutionPart {
    /// A text with variables of the request in it.
    Text(HashKey),
    /// The capture of a group of the pattern, from 1; empty where there is none.
    Group(u8),
}
