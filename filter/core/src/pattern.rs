//! Regular expressions of others, in an engine that never backtracks: it takes at most one step for each instruction and byte.

use regex_lite::{Regex, RegexBuilder};
use sluice_filter_config::LARGEST_PATTERN;

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    /// Bytes of its program, at most.
    size: usize,
}

impl Pattern {
    /// `None`: the engine does not know it, or its program is larger than [`LARGEST_PATTERN`].
    ///
    /// The engine does not say how large a program is, only whether it is larger than something.
    #[must_use]
    pub fn compile(pattern: &str, any_case: bool) -> Option<Self> {
        let sizes = [1, 2, 4, 8, 16].map(|part| LARGEST_PATTERN * part / 16);
        sizes.into_iter().find_map(|size| {
            let mut builder = RegexBuilder::new(pattern);
            let builder = builder.case_insensitive(any_case).size_limit(size);
            let regex = builder.build().ok()?;
            Some(Pattern { regex, size })
        })
    }

    /// The engine.
    pub(crate) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Cost of matching a text of so many bytes, as [`sluice_filter_config::MOST_MATCHING`] counts.
    pub(crate) fn cost(&self, bytes: usize) -> usize {
        self.size.saturating_mul(bytes)
    }
}
