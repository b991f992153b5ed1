//! One case, and what can be said of it.

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fake::Personality;

/// A case: one situation, one action, one expectation. What they hold depends on the area.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(rename = "id")]
    _id: String,
    pub(super) area: String,
    #[serde(default, rename = "title")]
    _title: String,
    #[serde(default)]
    pub(super) given: Value,
    #[serde(default)]
    pub(super) when: String,
    pub(super) then: Value,
    #[serde(default, rename = "source")]
    _source: Value,
    #[serde(default, rename = "note")]
    _note: Value,
}

/// Differences from the expectation; empty if there are none.
pub(super) type Findings = Vec<String>;

/// Why a case cannot be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cannot(pub(super) String);

/// The findings of a case, or why there are none.
pub(super) type Play = Result<Findings, Cannot>;

impl Case {
    /// The situation; an unknown word is named.
    pub(super) fn given<T: DeserializeOwned>(&self) -> Result<T, Cannot> {
        read("given", &self.given)
    }

    /// The expectation.
    pub(super) fn then<T: DeserializeOwned>(&self) -> Result<T, Cannot> {
        if self.then.as_object().is_none_or(serde_json::Map::is_empty) {
            return Err(Cannot("nothing is expected".into()));
        }
        read("then", &self.then)
    }

    /// For an action that nobody knows.
    pub(super) fn unknown_action(&self) -> Cannot {
        Cannot(format!(
            "when: unknown action {:?} for area {}",
            self.when, self.area
        ))
    }
}

/// Reads a part of a case; the error names the word.
pub(super) fn read<T: DeserializeOwned>(part: &str, value: &Value) -> Result<T, Cannot> {
    serde_path_to_error::deserialize(value).map_err(|error| Cannot(format!("{part}: {error}")))
}

/// For a JSON value that may be `null`: the difference to one that is not there.
pub(super) fn some<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// A finding, when the two differ.
pub(super) fn differs<T: PartialEq + fmt::Debug + ?Sized>(
    what: &str,
    expected: &T,
    got: &T,
) -> Option<String> {
    (expected != got).then(|| format!("{what}: expected {expected:?}, got {got:?}"))
}

/// Plays in both personalities; the findings say in which.
pub(super) fn in_both(play: impl Fn(Personality) -> Play) -> Play {
    let mut findings = Findings::new();
    for personality in Personality::BOTH {
        let name = personality.name();
        findings.extend(
            play(personality)?
                .into_iter()
                .map(|finding| format!("{name}: {finding}")),
        );
    }
    Ok(findings)
}
