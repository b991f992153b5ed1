//! Regular expressions that a value is compared with, byte by byte, as in ingress-nginx: a letter beyond ASCII is several.

use sluice_filter_config::{HeaderPattern, LARGEST_PATTERN};

use crate::{Exhausted, Pattern};

/// Compiled patterns: a value that all of them hold for.
#[derive(Debug)]
pub struct Patterns(Vec<(Pattern, bool)>);

impl Patterns {
    /// `None`: the engine does not know one of them, or they are larger than [`LARGEST_PATTERN`] together.
    #[must_use]
    pub fn compile(all: &[HeaderPattern]) -> Option<Self> {
        let mut left = LARGEST_PATTERN;
        let compiled = all.iter().map(|it| {
            let pattern = Pattern::compile(&it.pattern, false)?;
            left = left.checked_sub(pattern.cost(1))?;
            Some((pattern, it.negated))
        });
        compiled.collect::<Option<_>>().map(Patterns)
    }

    pub(super) fn one(pattern: &str) -> Option<Self> {
        let pattern = Pattern::compile(pattern, false)?;
        Some(Patterns(vec![(pattern, false)]))
    }

    pub(super) fn backtracking(pattern: &str) -> Option<Self> {
        let pattern = Pattern::backtracking(pattern, false).ok()?;
        Some(Patterns(vec![(pattern, false)]))
    }

    /// True if all of them hold. They take what that costs from `budget`, as [`sluice_filter_config::MOST_MATCHING`] counts.
    pub(super) fn hold(&self, value: &[u8], mut budget: usize) -> Result<bool, Exhausted> {
        // A value that is too long is so for all of them together, whichever would be looked at.
        let costs = self.0.iter().map(|(pattern, _)| pattern.cost(value.len()));
        if costs.fold(0, usize::saturating_add) > budget {
            return Ok(false);
        }
        for (pattern, negated) in &self.0 {
            if pattern.is_found(value, &mut budget)? == *negated {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use sluice_filter_config::MOST_MATCHING;

    use super::*;

    fn holds(pattern: &str, negated: bool, value: &[u8]) -> bool {
        let pattern = HeaderPattern {
            pattern: pattern.to_owned(),
            negated,
        };
        let patterns = Patterns::compile(&[pattern]).unwrap();
        patterns.hold(value, MOST_MATCHING).unwrap()
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
