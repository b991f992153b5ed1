//! Operators: comparisons of rules.

use std::fmt;

use serde::Serialize;

use super::text::WafText;

/// Operators that compare with a text. Absent: those that read files, ask servers or run programs.
pub const TEXT_OPERATORS: &[&str] = &[
    "beginsWith",
    "contains",
    "containsWord",
    "endsWith",
    "eq",
    "ge",
    "gt",
    "ipMatch",
    "le",
    "lt",
    "pm",
    "streq",
    "strmatch",
    "validateByteRange",
    "within",
];
/// Operators that compare with nothing.
pub const WITHOUT_ARGUMENT: &[&str] = &[
    "detectSQLi",
    "detectXSS",
    "unconditionalMatch",
    "validateUrlEncoding",
    "validateUtf8Encoding",
];

/// A comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Operator {
    /// `@rx`
    Matches(Pattern),
    /// One of [`TEXT_OPERATORS`], and what it compares with.
    Compares(&'static str, WafText),
    /// One of [`WITHOUT_ARGUMENT`].
    Is(&'static str),
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operator::Matches(pattern) => write!(f, "@rx {pattern}"),
            Operator::Compares(name, text) => write!(f, "@{name} {text}"),
            Operator::Is(name) => write!(f, "@{name}"),
        }
    }
}

/// A regular expression without a quote, a percent sign and an escaped backslash: they are written by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// Takes a regular expression that was checked. `None`: it has a control character, or ends in the middle of an escape.
    #[must_use]
    pub fn new(pattern: &str) -> Option<Self> {
        let mut written = String::with_capacity(pattern.len());
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            let (escape, letter) = match letter {
                '\\' => ("\\", letters.next()?),
                letter => ("", letter),
            };
            match letter {
                '"' => written.push_str(r"\x22"),
                '%' => written.push_str(r"\x25"),
                '\\' => written.push_str(r"\x5c"),
                letter if letter.is_control() => return None,
                letter => {
                    written.push_str(escape);
                    written.push(letter);
                }
            }
        }
        (!written.is_empty()).then_some(Pattern(written))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
