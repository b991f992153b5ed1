//! Differences on purpose, as rules: `tests/recordings/accepted.toml`.

use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;
use serde::{Deserialize, Deserializer};

use super::{Difference, Played};

/// Rules by the order of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The rules.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
}

/// A kind of difference, and the reason for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name.
    pub id: String,
    /// Sometimes there is no difference.
    #[serde(default)]
    pub by_chance: bool,
    /// The only data plane that differs.
    pub data_plane: Option<String>,
    /// The reason, as docs/differences.md has it.
    pub reason: String,
    /// The patterns of what differs.
    #[serde(rename = "difference")]
    pub differences: Vec<Pattern>,
}

/// Differences of a kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// The fields that differ.
    #[serde(deserialize_with = "pattern")]
    pub field: Regex,
    /// The recorded values.
    #[serde(default, deserialize_with = "some_pattern")]
    pub expected: Option<Regex>,
    /// The observed values.
    #[serde(default, deserialize_with = "some_pattern")]
    pub got: Option<Regex>,
    /// The first lines of the requests.
    #[serde(default, deserialize_with = "some_pattern")]
    pub request: Option<Regex>,
    /// The names of the cases: annotations and keys of the ConfigMap, with a number.
    #[serde(default, deserialize_with = "some_pattern")]
    pub case: Option<Regex>,
    /// Only cases that ingress-nginx refused as a whole.
    #[serde(default)]
    pub refused: bool,
    /// Only 503 answers of cases with an annotation of access control.
    #[serde(default)]
    pub access_control_503: bool,
    /// The only data plane that differs so.
    pub data_plane: Option<String>,
}

impl Rules {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Rules> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The first pattern that a difference fits: the name of its rule, and its place there, counted from 1.
    pub fn explain<'a>(
        &'a self,
        data_plane: &'a str,
        played: &Played,
        difference: &Difference,
    ) -> Option<(&'a str, usize)> {
        let mut patterns = self.patterns(data_plane);
        let (rule, n, _) = patterns.find(|(_, _, pattern)| pattern.holds(played, difference))?;
        Some((&rule.id, n))
    }

    /// The patterns of a data plane that some difference must need, as [`Rules::explain`] names them.
    pub fn needed<'a>(&'a self, data_plane: &'a str) -> impl Iterator<Item = (&'a str, usize)> {
        self.patterns(data_plane)
            .filter(|(rule, _, _)| !rule.by_chance)
            .map(|(rule, n, _)| (rule.id.as_str(), n))
    }

    fn patterns<'a>(
        &'a self,
        data_plane: &'a str,
    ) -> impl Iterator<Item = (&'a Rule, usize, &'a Pattern)> {
        let is_of =
            move |only: &Option<String>| only.as_ref().is_none_or(|only| only == data_plane);
        let rules = self
            .rules
            .iter()
            .filter(move |rule| is_of(&rule.data_plane));
        rules.flat_map(move |rule| {
            let patterns = rule.differences.iter().enumerate();
            patterns
                .filter(move |(_, pattern)| is_of(&pattern.data_plane))
                .map(move |(n, pattern)| (rule, n + 1, pattern))
        })
    }
}

impl Pattern {
    fn holds(&self, played: &Played, difference: &Difference) -> bool {
        let matches = |pattern: &Option<Regex>, text: &str| {
            pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(text))
        };
        (!self.refused || played.is_refused)
            && (!self.access_control_503 || played.is_access_control_503)
            && self.field.is_match(&difference.field)
            && matches(&self.expected, &difference.expected)
            && matches(&self.got, &difference.got)
            && matches(&self.request, &played.request)
            && matches(&self.case, &played.id)
    }
}

/// Patterns are of the whole text.
fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    let text = String::deserialize(deserializer)?;
    Regex::new(&format!("^(?:{text})$")).map_err(serde::de::Error::custom)
}

fn some_pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Regex>, D::Error> {
    pattern(deserializer).map(Some)
}
