//! Regular expressions that take a backtracking engine: lookaround, backreferences, atomic groups and possessive repetition.
//!
//! ```text
//!   pattern --parse.rs--> Node --compile.rs--> Program --run.rs--> groups, or no steps left
//! ```
//!
//! They mean what they mean to PCRE without Unicode: a byte is a character, and `$` is also in front of a last line break. What PCRE
//! would refuse, or has changed its mind about, is refused. Each step is counted, and there is an end to them.
//!
//! Not fancy-regex: with it the wasm has 1,351 KB in the place of 660, for patterns that hardly anybody has.

mod class;
mod compile;
mod cursor;
mod parse;
mod run;

use class::ByteSet;
use compile::Op;
pub(crate) use run::Exhausted;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Program {
    ops: Vec<Op>,
    sets: Vec<ByteSet>,
    /// Groups that capture.
    groups: u8,
    /// There are alternatives outside of all groups.
    alternatives: bool,
    /// Of groups, and of what operations remember.
    slots: usize,
    /// It can be found at the beginning of a text only.
    is_anchored: bool,
}

/// Groups of a pattern that was found, from the first: `None` is one that took no part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Groups<'t>(Vec<Option<&'t [u8]>>);

/// Reason why a pattern is not for this engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is nothing in it that needs backtracking, as far as it can be read.
    NotNeeded,
    /// To be read after "got".
    Wrong(String),
}

impl Program {
    pub(crate) fn compile(pattern: &str, any_case: bool) -> Result<Self, Refusal> {
        let parsed = parse::parse(pattern, any_case)?;
        compile::program(&parsed).map_err(Refusal::Wrong)
    }

    /// How many groups capture.
    pub(crate) fn groups(&self) -> u8 {
        self.groups
    }

    /// True if there are alternatives outside of all groups.
    pub(crate) fn has_alternatives(&self) -> bool {
        self.alternatives
    }
}

impl<'t> Groups<'t> {
    /// One of them, from 1; empty where there is none.
    pub(crate) fn get(&self, group: u8) -> &'t [u8] {
        let group = usize::from(group).checked_sub(1);
        let found = group.and_then(|group| self.0.get(group).copied());
        found.flatten().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
