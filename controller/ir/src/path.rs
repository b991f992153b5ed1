//! Matching and rewriting of paths.

use serde::{Serialize, Serializer};

use crate::is_default;

/// Match on the path of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PathMatch {
    /// The path and nothing else.
    Exact(String),
    /// The path and everything under it, by whole segments: `/foo` takes `/foo` and `/foo/bar`, not `/foobar`.
    Prefix(String),
    /// Paths that match a regular expression.
    Regex(PathRegex),
}

impl PathMatch {
    /// The path, or the pattern that takes the place of the one that its owner has written.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            PathMatch::Exact(path) | PathMatch::Prefix(path) => path,
            PathMatch::Regex(regex) => &regex.pattern,
        }
    }
}

/// A regular expression over a path. Only what RE2 and PCRE both know and mean the same by is in one that is not `backtracking`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PathRegex {
    /// Without what its scope says.
    pub pattern: String,
    /// How many groups capture.
    pub groups: u8,
    /// True if there are alternatives outside all groups. Then only the first one is anchored at the beginning of the path: nginx
    /// writes `^` before the pattern, and means it so.
    pub alternatives: bool,
    /// Part of the path that it matches.
    #[serde(skip_serializing_if = "is_default")]
    pub scope: RegexScope,
    /// Conditions on the path beside the pattern: lookaround of its owner's. Only beside a pattern of the beginning, without alternatives.
    #[serde(skip_serializing_if = "is_default")]
    pub conditions: Vec<PathCondition>,
    /// There is something in it that takes a backtracking engine: PCRE's, not RE2.
    #[serde(skip_serializing_if = "is_default")]
    pub backtracking: bool,
}

/// A condition on a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PathCondition {
    /// A pattern of its beginning, whatever case letters have. No group in it captures.
    pub pattern: String,
    /// The path must not match.
    #[serde(skip_serializing_if = "is_default")]
    pub is_negative: bool,
}

impl std::fmt::Display for PathCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_negative { '!' } else { '=' };
        write!(f, "(?{kind}{})", self.pattern)
    }
}

/// Part of a path that a regular expression matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegexScope {
    /// It begins where the path begins, whatever case the letters have, and may end before the path does.
    #[default]
    Beginning,
    /// It is found anywhere in the path.
    Anywhere,
    /// The same, whatever case the letters have.
    AnywhereInAnyCase,
}

impl PathRegex {
    /// A pattern of the beginning of a path that has neither groups nor alternatives.
    #[must_use]
    pub fn plain(pattern: String) -> Self {
        PathRegex {
            pattern,
            groups: 0,
            alternatives: false,
            scope: RegexScope::Beginning,
            conditions: Vec::new(),
            backtracking: false,
        }
    }

    /// Paths that begin with an escaped text, in the same case.
    #[must_use]
    pub fn starting_with(escaped: &str) -> Self {
        PathRegex {
            scope: RegexScope::Anywhere,
            ..PathRegex::plain(format!("^{escaped}"))
        }
    }

    /// The pattern from the beginning of the path on; empty where it may begin anywhere.
    #[must_use]
    pub fn anchored(&self) -> &str {
        match self.scope {
            RegexScope::Beginning => &self.pattern,
            RegexScope::Anywhere | RegexScope::AnywhereInAnyCase => {
                self.pattern.strip_prefix('^').unwrap_or_default()
            }
        }
    }
}

/// Path that takes the place of the one of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PathRewrite {
    /// A path with the groups of [`PathMatch::Regex`].
    Template(Template),
    /// This path.
    Full {
        /// Begins with a slash.
        full: String,
    },
    /// This in place of the path of [`PathMatch::Prefix`]; what follows stays.
    Prefix {
        /// Begins with a slash, and ends with none unless it is the only one.
        prefix: String,
    },
}

/// A text with captured groups in it, or with the host of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Template(pub Vec<TemplatePart>);

/// A part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TemplatePart {
    /// Taken as it is.
    Text(String),
    /// Capture of this group, from 1. It exists.
    Group(u8),
    /// The host of the request, without a port. Only in paths of upstreams and in [`HttpRoute::forwarded_prefix`].
    ///
    /// [`HttpRoute::forwarded_prefix`]: crate::HttpRoute::forwarded_prefix
    Host,
}

impl Template {
    /// The text, if there is no group in it.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// True if the host of a request is in it.
    #[must_use]
    pub fn has_host(&self) -> bool {
        self.0.contains(&TemplatePart::Host)
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pieces = self.0.iter().map(|piece| match piece {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Group(group) => format!("${group}"),
            TemplatePart::Host => "$host".to_owned(),
        });
        serializer.serialize_str(&pieces.collect::<String>())
    }
}
