//! Regular expressions of others, each in the engine that it needs. To both a byte is a character.

use std::borrow::Cow;

use regex_lite::{Regex, RegexBuilder};
use sluice_filter_config::LARGEST_PATTERN;
pub use sluice_filter_config::MOST_MATCHING;

pub use crate::backtracking::Refusal;
use crate::backtracking::{self, Program};

/// Cost of a step of the backtracking engine, as [`sluice_filter_config::MOST_MATCHING`] counts.
pub(crate) const STEP_COST: usize = 32;

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern(Engine);

#[derive(Debug)]
enum Engine {
    /// Never backtracks: it takes at most one step for each instruction and byte.
    Linear {
        regex: Regex,
        /// Bytes of its program, at most.
        size: usize,
    },
    /// Counts its steps.
    Backtracking(Program),
}

/// The rest of a budget is not enough to know whether a pattern is in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

/// Groups of a pattern that was found.
#[derive(Debug)]
pub struct Captures<'t>(Found<'t>);

#[derive(Debug)]
enum Found<'t> {
    Linear(Vec<Vec<u8>>),
    Backtracking(backtracking::Groups<'t>),
}

/// Facts about a pattern of the backtracking engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacktrackingShape {
    /// Number of capturing groups.
    pub groups: u8,
    /// True if there are alternatives outside all groups.
    pub alternatives: bool,
}

impl BacktrackingShape {
    /// Of a pattern that this engine takes.
    pub fn of(pattern: &str, any_case: bool) -> Result<Self, Refusal> {
        let program = Program::compile(pattern, any_case)?;
        Ok(BacktrackingShape {
            groups: program.groups(),
            alternatives: program.has_alternatives(),
        })
    }
}

impl Pattern {
    /// `None`: the engine does not know it, or its program is larger than [`LARGEST_PATTERN`].
    ///
    /// The engine does not say how large a program is, only whether it is larger than something.
    #[must_use]
    pub fn compile(pattern: &str, any_case: bool) -> Option<Self> {
        let pattern = characters(pattern.as_bytes());
        let sizes = [1, 2, 4, 8, 16].map(|part| LARGEST_PATTERN * part / 16);
        sizes.into_iter().find_map(|size| {
            let mut builder = RegexBuilder::new(&pattern);
            let builder = builder.case_insensitive(any_case).size_limit(size);
            let regex = builder.build().ok()?;
            Some(Pattern(Engine::Linear { regex, size }))
        })
    }

    /// One with lookaround, backreferences or what else only PCRE knows, in an engine that counts its steps.
    pub fn backtracking(pattern: &str, any_case: bool) -> Result<Self, Refusal> {
        let program = Program::compile(pattern, any_case)?;
        Ok(Pattern(Engine::Backtracking(program)))
    }

    /// Cost of a text of so many bytes, at the least, as [`sluice_filter_config::MOST_MATCHING`] counts.
    pub(crate) fn cost(&self, bytes: usize) -> usize {
        match &self.0 {
            Engine::Linear { size, .. } => size.saturating_mul(bytes),
            Engine::Backtracking(_) => 0,
        }
    }

    /// True if it is found in a text. It takes what it costs from `budget`.
    pub fn is_found(&self, text: &[u8], budget: &mut usize) -> Result<bool, Exhausted> {
        match &self.0 {
            Engine::Linear { regex, .. } => {
                self.pay(text, budget)?;
                Ok(regex.is_match(&characters(text)))
            }
            Engine::Backtracking(program) => Ok(find(program, text, budget)?.is_some()),
        }
    }

    /// The same, with what its groups hold.
    pub fn captures<'t>(
        &self,
        text: &'t [u8],
        budget: &mut usize,
    ) -> Result<Option<Captures<'t>>, Exhausted> {
        let found = match &self.0 {
            Engine::Linear { regex, .. } => {
                self.pay(text, budget)?;
                let text = characters(text);
                let captures = regex.captures(&text);
                captures.map(|captures| Found::Linear(captures.iter().skip(1).map(bytes).collect()))
            }
            Engine::Backtracking(program) => find(program, text, budget)?.map(Found::Backtracking),
        };
        Ok(found.map(Captures))
    }

    fn pay(&self, text: &[u8], budget: &mut usize) -> Result<(), Exhausted> {
        *budget = budget.checked_sub(self.cost(text.len())).ok_or(Exhausted)?;
        Ok(())
    }
}

impl Captures<'_> {
    /// A group, from 1; empty where there is none.
    #[must_use]
    pub fn get(&self, group: u8) -> &[u8] {
        match &self.0 {
            Found::Linear(groups) => {
                let found = usize::from(group)
                    .checked_sub(1)
                    .and_then(|at| groups.get(at));
                found.map(Vec::as_slice).unwrap_or_default()
            }
            Found::Backtracking(groups) => groups.get(group),
        }
    }
}

fn find<'t>(
    program: &Program,
    text: &'t [u8],
    budget: &mut usize,
) -> Result<Option<backtracking::Groups<'t>>, Exhausted> {
    let mut steps = *budget / STEP_COST;
    let found = program.find(text, &mut steps);
    *budget = steps * STEP_COST;
    found.map_err(|backtracking::Exhausted| Exhausted)
}

/// Bytes as characters of the same number: to the engine, as to PCRE, a byte is a character.
fn characters(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => Cow::Borrowed(text),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}

/// The bytes that were characters.
fn bytes(found: Option<regex_lite::Match<'_>>) -> Vec<u8> {
    let letters = found.iter().flat_map(|found| found.as_str().chars());
    letters
        .filter_map(|letter| u8::try_from(letter).ok())
        .collect()
}
