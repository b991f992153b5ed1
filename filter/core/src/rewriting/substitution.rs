//! Replacement of what a pattern is found in, as nginx does it: the whole text goes, and the groups come back where they are
//! named.

use std::cell::OnceCell;

use sluice_filter_config::{MOST_MATCHING, ReplacedPattern, SubstitutionPart};

use crate::{Key, Pattern};

/// A pattern that is compiled when a first response needs it, and never again.
#[derive(Debug)]
pub(super) struct LazyPattern {
    text: String,
    any_case: bool,
    backtracking: bool,
    compiled: OnceCell<Option<Pattern>>,
}

/// A part of what takes the place of a text.
#[derive(Debug)]
pub(super) enum Part<T> {
    Text(T),
    Group(u8),
}

/// Budget of matching that is left for a response. A text that is too long for what is left is not replaced.
#[derive(Debug)]
pub struct Matching(usize);

impl Default for Matching {
    fn default() -> Self {
        Matching(MOST_MATCHING)
    }
}

impl Part<Key> {
    pub(super) fn new(part: &SubstitutionPart) -> Self {
        match part {
            SubstitutionPart::Text(key) => Part::Text(Key::from(key)),
            SubstitutionPart::Group(group) => Part::Group(*group),
        }
    }

    pub(super) fn is_constant(&self) -> bool {
        match self {
            Part::Text(key) => key.is_constant(),
            Part::Group(_) => true,
        }
    }
}

impl<T> Part<T> {
    pub(super) fn map<U>(&self, text: impl Fn(&T) -> U) -> Part<U> {
        match self {
            Part::Text(value) => Part::Text(text(value)),
            Part::Group(group) => Part::Group(*group),
        }
    }
}

impl LazyPattern {
    pub(super) fn new(replaced: &ReplacedPattern) -> Self {
        LazyPattern {
            text: replaced.pattern.clone(),
            any_case: replaced.any_case,
            backtracking: replaced.backtracking,
            compiled: OnceCell::new(),
        }
    }

    fn compile(&self) -> Option<Pattern> {
        match self.backtracking {
            true => Pattern::backtracking(&self.text, self.any_case).ok(),
            false => Pattern::compile(&self.text, self.any_case),
        }
    }

    /// The text that takes the place of `value`; `None` where the pattern is not found in it.
    pub(super) fn replace(
        &self,
        value: &[u8],
        to: &[Part<Vec<u8>>],
        matching: &mut Matching,
    ) -> Option<Vec<u8>> {
        let compiled = self.compiled.get_or_init(|| self.compile());
        let captures = compiled.as_ref()?.captures(value, &mut matching.0).ok()??;
        let mut replaced = Vec::new();
        for part in to {
            match part {
                Part::Text(text) => replaced.extend_from_slice(text),
                Part::Group(group) => replaced.extend_from_slice(captures.get(*group)),
            }
        }
        Some(replaced)
    }
}
