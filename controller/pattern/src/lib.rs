//! Regular expressions of others: which ones every data plane takes, and how they are written for each.
//!
//! ```text
//!   pattern --check--> syntax.rs: only what RE2 and PCRE both know, and mean the same by
//!                \---> re2_cost.rs, pcre_cost.rs, automaton.rs: what it costs the engine, measured on the text that write.rs gives it
//! ```
//!
//! What only PCRE knows comes in other words where that is the same: `lookahead.rs` (one pattern), `lookaround.rs` (conditions beside
//! a pattern), `possessive.rs`; what it has other words for, too: `common_words.rs`.
//!
//! A data plane that refuses one pattern refuses everything that came with it, also what is others'. So translation normalises them
//! ([`in_common_words`] for paths, [`with_flags_in_groups`] for others) and checks them with [`check`], and renderers write them with
//! functions of this crate only: what is measured is what is compiled.
//!
//! Pure, and the same for the same input: what was measured is remembered.

mod ast;
mod automaton;
mod class_set;
mod common_words;
mod cost_cache;
mod encoded;
mod first_group;
mod host_names;
mod leading_flags;
mod literal_prefix;
mod lookahead;
mod lookaround;
mod nginx_variables;
mod pcre_cost;
mod possessive;
mod query;
mod re2_cost;
mod separators;
mod syntax;
mod target_parts;
mod tokens;
mod write;

use regex_syntax::ast::Ast;
use regex_syntax::ast::parse::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

pub use automaton::{MOST_STATE_BYTES, MOST_STATE_BYTES_OF_TEXTS};
pub use common_words::{group_names, in_common_words};
pub use encoded::encoded_path;
pub use first_group::first_group_begins_with_slash;
pub use host_names::{HostNames, MOST_HOST_NAMES, host_names};
pub use leading_flags::{behind_any_case, with_flags_in_groups};
pub use literal_prefix::{covering_prefix, has_alternatives, literal_prefix};
pub use lookahead::without_lookahead;
pub use lookaround::{
    Condition, Conditional, of_text_without_lookaround, re2_condition, without_lookaround,
};
pub use nginx_variables::is_variable_of_nginx;
pub use possessive::without_possessives;
pub use query::{is_comparable_with_query, with_query};
pub use separators::takes_none_of;
pub use syntax::LOOKAROUND;
pub use target_parts::{TargetPart, re2_target, re2_target_equals};
pub use write::{Subject, escape, literal, pcre, pcre_under_conditions, re2, re2_first};

/// Bytes of a pattern.
pub const MAX_PATTERN_BYTES: usize = 1000;
/// Instructions of the program that RE2 makes of a pattern: the limit that an Envoy must have
/// (`re2.max_program_size.error_level`), whose own is 100. A byte of a path costs as many steps at the most.
pub const MOST_INSTRUCTIONS: u64 = 2000;
/// Repetitions of repetitions, multiplied: RE2's own limit.
pub const MOST_REPETITIONS: u64 = 1000;
/// Steps back that PCRE may take in one comparison. Then it gives up, and nginx answers 500.
pub const MOST_STEPS: u32 = 20_000;
/// Groups within groups.
const DEEPEST: u32 = 20;
/// Of the engine's own around a pattern: [`DEEPEST`] is for what others write.
const DEEPEST_WRITTEN: u32 = DEEPEST + 5;

/// Facts about a pattern that every data plane takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of capturing groups.
    pub groups: u8,
    /// True if there are alternatives outside all groups.
    pub alternatives: bool,
    /// The time that [`check`] takes for it: for 8,388,608 half a second.
    pub cost: u64,
}

/// Checks that every data plane accepts a pattern. The error says what is wrong, to be read after "expected a regular expression
/// that RE2 and PCRE share".
pub fn check(pattern: &str, subject: Subject) -> Result<Shape, String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!(
            "{} bytes are more than {MAX_PATTERN_BYTES}",
            pattern.len()
        ));
    }
    let ast = parse(pattern, DEEPEST).map_err(|error| syntax::parse_error(&error, subject))?;
    let groups = syntax::check(pattern, &ast)?;
    let shape = Shape {
        groups: u8::try_from(groups).map_err(|_| "more than 255 groups".to_owned())?,
        alternatives: matches!(ast, Ast::Alternation(_)),
        cost: 0,
    };
    let cost = cost_cache::cost_of(pattern, subject, || {
        measure(pattern, subject, shape.alternatives)
    })?;
    Ok(Shape { cost, ..shape })
}

/// Checks its cost, as it is written for each engine. Returns [`Shape::cost`].
fn measure(pattern: &str, subject: Subject, alternatives: bool) -> Result<u64, String> {
    let written = write::for_re2(pattern, subject, alternatives)
        .ok_or_else(|| r"a \b or \B that is not behind a letter, a digit or another character that paths have unencoded".to_owned())?;
    let first = re2_first(pattern, subject, alternatives);
    let parsed = |text: &str| parse(text, DEEPEST_WRITTEN).map_err(|error| error.to_string());
    let for_re2 = parsed(&written)?;
    let repetitions = re2_cost::repetitions(&for_re2);
    if repetitions > MOST_REPETITIONS {
        return Err(format!(
            "repetitions that multiply to {repetitions}, more than {MOST_REPETITIONS}"
        ));
    }
    let instructions =
        re2_cost::instructions(&for_re2).max(re2_cost::instructions(&parsed(&first)?));
    if instructions > MOST_INSTRUCTIONS {
        return Err(format!(
            "one of {instructions} instructions, more than {MOST_INSTRUCTIONS}"
        ));
    }
    let for_pcre = parse(
        write::pcre_body(pattern, subject, alternatives).as_str(),
        DEEPEST_WRITTEN,
    )
    .map_err(|e| e.to_string())?;
    let bytes = pcre_cost::bytes(&for_pcre);
    if bytes > pcre_cost::MOST_BYTES {
        return Err(format!(
            "one of {bytes} bytes when compiled, more than {}",
            pcre_cost::MOST_BYTES
        ));
    }
    // As many states as letters.
    let states = match literal(pattern) {
        Some(_) => 0,
        None => automaton::bytes(&written, subject)?,
    };
    Ok(cost(states as u64, instructions))
}

/// The pattern, unless [`check`] refuses it for its length, in whatever words: to look for others would take long.
fn within_limit(pattern: &str) -> Option<&str> {
    (pattern.len() <= MAX_PATTERN_BYTES).then_some(pattern)
}

/// In the unit of [`Shape::cost`], as measured: each state is a set of instructions, of which most hold few.
fn cost(state_bytes: u64, instructions: u64) -> u64 {
    state_bytes + state_bytes * instructions / 512 + 64 * instructions
}

/// True if it matches the empty text, and so every text; also if it cannot be parsed.
#[must_use]
pub fn matches_empty(pattern: &str) -> bool {
    let shortest = regex_syntax::parse(pattern)
        .ok()
        .and_then(|hir| hir.properties().minimum_len());
    shortest.is_none_or(|length| length == 0)
}

/// True if engines may disagree about a group: it is in something that is repeated and may be empty, and PCRE takes the empty text once more.
/// Also if it cannot be parsed.
#[must_use]
pub fn has_groups_of_empty_repetitions(pattern: &str) -> bool {
    fn has(hir: &Hir) -> bool {
        let subs: &[Hir] = match hir.kind() {
            HirKind::Repetition(repetition) => {
                let properties = repetition.sub.properties();
                let is_empty = properties.minimum_len().is_none_or(|length| length == 0);
                return (is_empty && properties.explicit_captures_len() > 0)
                    || has(&repetition.sub);
            }
            HirKind::Capture(capture) => return has(&capture.sub),
            HirKind::Concat(subs) | HirKind::Alternation(subs) => subs,
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => &[],
        };
        subs.iter().any(has)
    }
    regex_syntax::parse(pattern).map_or(true, |hir| has(&hir))
}

fn parse(pattern: &str, deepest: u32) -> Result<Ast, Box<regex_syntax::ast::Error>> {
    ParserBuilder::new()
        .nest_limit(deepest)
        .build()
        .parse(pattern)
        .map_err(Box::new)
}

#[cfg(test)]
mod tests;
