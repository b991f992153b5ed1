//! Rewriting of locations in responses: upstreams do not know the URLs that clients use.

use serde::{Serialize, Serializer};

use crate::{Expression, is_default};

/// Of the answers of pods. Where one begins like the text of a [`Replacement`], that part of it is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResponseRewrite {
    /// In the headers `Location` and `Refresh`.
    #[serde(skip_serializing_if = "is_default")]
    pub redirects: Option<Replacement>,
    /// In `Domain` of cookies; the whole of it.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie_domains: Option<Replacement>,
    /// In `Path` of cookies.
    #[serde(skip_serializing_if = "is_default")]
    pub cookie_paths: Option<Replacement>,
}

/// Replacement of a text that the upstream sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Replacement {
    /// One text for another.
    Text {
        /// Text that the upstream sends.
        from: Expression,
        /// Text that clients get.
        to: Expression,
    },
    /// The whole of what a pattern is found in. Of cookies' domains, with a dot in front.
    Pattern {
        /// Only what PCRE and the engines of the filter know and mean the same by.
        pattern: String,
        /// Letters have any case.
        #[serde(skip_serializing_if = "is_default")]
        any_case: bool,
        /// There is something in it that takes a backtracking engine.
        #[serde(skip_serializing_if = "is_default")]
        backtracking: bool,
        /// Text that clients get.
        to: Substitution,
    },
}

/// A text with captured groups and something of the request in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Substitution(pub Vec<SubstitutionPart>);

/// A part of a [`Substitution`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubstitutionPart {
    /// Text with something of the request in it.
    Text(Expression),
    /// Capture of this group, from 1. It exists.
    Group(u8),
}

impl Serialize for Substitution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.0.iter().map(|part| match part {
            SubstitutionPart::Text(expression) => expression.to_string(),
            SubstitutionPart::Group(group) => format!("${group}"),
        });
        serializer.serialize_str(&parts.collect::<String>())
    }
}
