//! Replacement of what a pattern is found in, as nginx does it: the whole text goes, and the groups come back where they are
//! named.

use std::borrow::Cow;
use std::cell::OnceCell;

use sluice_filter_config::{MOST_MATCHING, SubstitutionPart};

use crate::{Key, Pattern};

/// A pattern that is compiled when a first response needs it, and never again.
#[derive(Debug)]
pub(super) struct LazyPattern {
    text: String,
    any_case: bool,
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
    pub(super) fn new(pattern: &str, any_case: bool) -> Self {
        LazyPattern {
            text: characters(pattern.as_bytes()).into_owned(),
            any_case,
            compiled: OnceCell::new(),
        }
    }

    /// The text that takes the place of `value`; `None` where the pattern is not found in it.
    pub(super) fn replace(
        &self,
        value: &[u8],
        to: &[Part<Vec<u8>>],
        matching: &mut Matching,
    ) -> Option<Vec<u8>> {
        let compile = || Pattern::compile(&self.text, self.any_case);
        let pattern = self.compiled.get_or_init(compile).as_ref()?;
        matching.0 = matching.0.checked_sub(pattern.cost(value.len()))?;
        let text = characters(value);
        let captures = pattern.regex().captures(&text)?;
        let mut replaced = Vec::new();
        for part in to {
            match part {
                Part::Text(text) => replaced.extend_from_slice(text),
                Part::Group(group) => {
                    let found = captures.get(usize::from(*group));
                    let letters = found.iter().flat_map(|found| found.as_str().chars());
                    replaced.extend(letters.filter_map(|letter| u8::try_from(letter).ok()));
                }
            }
        }
        Some(replaced)
    }
}

/// Bytes as characters of the same number: to the engine, as to PCRE, a byte is a character.
fn characters(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}
