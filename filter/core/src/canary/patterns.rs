//! Regular expressions that a value is compared with.

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
            let pattern = Pattern::compile(&it.pattern, false)?;
            left = left.checked_sub(pattern.cost(1))?;
            Some((pattern, it.negated))
        });
        compiled.collect::<Option<_>>().map(Patterns)
    }

    pub(super) fn one(pattern: &str) -> Option<Self> {
        Pattern::compile(pattern, false).map(|pattern| Patterns(vec![(pattern, false)]))
    }

    /// Cost of matching a text of so many bytes, as [`sluice_filter_config::MOST_MATCHING`] counts.
    pub(super) fn cost(&self, bytes: usize) -> usize {
        let costs = self.0.iter().map(|(pattern, _)| pattern.cost(bytes));
        costs.fold(0, usize::saturating_add)
    }

    /// True if all of them hold.
    #[must_use]
    pub fn hold(&self, value: &str) -> bool {
        let mut all = self.0.iter();
        all.all(|(pattern, negated)| pattern.regex().is_match(value) != *negated)
    }
}
