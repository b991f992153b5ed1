//! Regular expressions that a value is compared with, byte by byte, as in ingress-nginx: a letter beyond ASCII is several.

use std::borrow::Cow;

use sluice_filter_config::{HeaderPattern, LARGEST_PATTERN};

use crate::Pattern;

/// Compiled patterns: a value that all of them hold for.
#[derive(Debug)]
pub struct Patterns(Vec<(Pattern, bool)>);

impl Patterns {
    /// `None`: the engine does not know one of them, or they are larger than [`LARGEST_PATTERN`] together.
    #[must_use]
    pub fn compile(all: &[HeaderPattern]) -> Option<Self> {
        let mut left = LARGEST_PATTERN;
        let compiled = all.iter().map(|it| {
            let pattern = compile(&it.pattern)?;
            left = left.checked_sub(pattern.cost(1))?;
            Some((pattern, it.negated))
        });
        compiled.collect::<Option<_>>().map(Patterns)
    }

    pub(super) fn one(pattern: &str) -> Option<Self> {
        compile(pattern).map(|pattern| Patterns(vec![(pattern, false)]))
    }

    /// Cost of matching a text of so many bytes, as [`sluice_filter_config::MOST_MATCHING`] counts.
    pub(super) fn cost(&self, bytes: usize) -> usize {
        let costs = self.0.iter().map(|(pattern, _)| pattern.cost(bytes));
        costs.fold(0, usize::saturating_add)
    }

    /// True if all of them hold.
    #[must_use]
    pub fn hold(&self, value: &[u8]) -> bool {
        let value = characters(value);
        let mut all = self.0.iter();
        all.all(|(pattern, negated)| pattern.regex().is_match(&value) != *negated)
    }
}

fn compile(pattern: &str) -> Option<Pattern> {
    Pattern::compile(&characters(pattern.as_bytes()), false)
}

/// A character for each byte.
fn characters(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => text.iter().copied().map(char::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(pattern: &str, negated: bool, value: &[u8]) -> bool {
        let pattern = HeaderPattern {
            pattern: pattern.to_owned(),
            negated,
        };
        Patterns::compile(&[pattern]).unwrap().hold(value)
    }

    #[test]
    fn a_letter_beyond_ascii_is_its_bytes() {
        assert!(holds("^.{3}$", false, "éa".as_bytes()));
        assert!(!holds("^.{3}$", true, "éa".as_bytes()));
        assert!(holds("^é$", false, "é".as_bytes()));
        assert!(holds("^[é]{2}$", false, "é".as_bytes()));
        assert!(!holds("^é$", false, b"\xe9"));
        for any in [&b"\xff"[..], b"a\x80b", b""] {
            assert!(holds("^beta$", true, any), "{any:?}");
        }
    }
}
