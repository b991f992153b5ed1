//! Cost of a pattern in RE2: the number of instructions of its program. An estimate from above, for
//! texts of bytes and of UTF-8 alike; a test compares it with what Envoy itself counts.
//!
//! RE2 copies what is repeated as often as it is repeated. In UTF-8 a class that is negated takes all characters of two to
//! four bytes, too, and where case does not matter `k` and `s` are three letters each.

use regex_syntax::ast::{Ast, Flag, Flags, GroupKind, RepetitionKind, RepetitionRange};

use crate::class_set::Set;

/// The beginning and the end of every program.
const FRAME: u64 = 8;
/// All characters of more than one byte.
const BEYOND_ASCII: u64 = 8;
/// The same without the Kelvin sign (K) and the long s (ſ), which are other cases of letters of ASCII.
const BEYOND_ASCII_WITH_HOLES: u64 = 30;
/// A character of up to four bytes, whatever case it has.
const ONE_BEYOND_ASCII: u64 = 20;

/// Instructions of the program, or a few more.
pub(crate) fn instructions(ast: &Ast) -> u64 {
    FRAME + size(ast, &mut false)
}

/// Counted repetitions that are within each other, multiplied.
pub(crate) fn repetitions(ast: &Ast) -> u64 {
    let most = |asts: &[Ast]| asts.iter().map(repetitions).max().unwrap_or(1);
    match ast {
        Ast::Repetition(repetition) => {
            let times = match &repetition.op.kind {
                RepetitionKind::Range(range) => u64::from(bounds(range).1.max(1)),
                _ => 1,
            };
            times.saturating_mul(repetitions(&repetition.ast))
        }
        Ast::Group(group) => repetitions(&group.ast),
        Ast::Alternation(alternation) => most(&alternation.asts),
        Ast::Concat(concat) => most(&concat.asts),
        _ => 1,
    }
}

/// `any_case` is what holds where it begins; flags in it change that for what follows.
fn size(ast: &Ast, any_case: &mut bool) -> u64 {
    match ast {
        Ast::Flags(flags) => {
            *any_case = case(&flags.flags, *any_case);
            0
        }
        Ast::Empty(_) | Ast::Assertion(_) => 1,
        Ast::Literal(literal) => character(literal.c, *any_case),
        Ast::Dot(_) => 2 + BEYOND_ASCII,
        Ast::ClassPerl(class) => self::class(Set::of_perl(class), *any_case),
        // RE2 has no others that get here.
        Ast::ClassUnicode(_) => u64::MAX,
        Ast::ClassBracketed(class) => self::class(Set::of(class), *any_case),
        Ast::Repetition(repetition) => {
            let one = size(&repetition.ast, &mut any_case.clone());
            repeated(one, &repetition.op.kind)
        }
        Ast::Group(group) => {
            let (flags, frame) = match &group.kind {
                GroupKind::NonCapturing(flags) => (Some(flags), 0),
                GroupKind::CaptureIndex(_) | GroupKind::CaptureName { .. } => (None, 2),
            };
            let mut inner = flags.map_or(*any_case, |flags| case(flags, *any_case));
            frame + size(&group.ast, &mut inner)
        }
        Ast::Alternation(alternation) => sum(&alternation.asts, any_case, 1),
        Ast::Concat(concat) => sum(&concat.asts, any_case, 0),
    }
}

fn sum(asts: &[Ast], any_case: &mut bool, each: u64) -> u64 {
    asts.iter().fold(0, |sum: u64, ast| {
        sum.saturating_add(size(ast, any_case)).saturating_add(each)
    })
}

fn case(flags: &Flags, before: bool) -> bool {
    flags.flag_state(Flag::CaseInsensitive).unwrap_or(before)
}

fn repeated(one: u64, kind: &RepetitionKind) -> u64 {
    let copies = match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => 1,
        RepetitionKind::Range(range) => u64::from(bounds(range).1.max(1)),
    };
    // Each copy that need not be there has a way around it.
    one.saturating_add(1)
        .saturating_mul(copies)
        .saturating_add(2)
}

fn bounds(range: &RepetitionRange) -> (u32, u32) {
    match range {
        RepetitionRange::Exactly(count) => (*count, *count),
        // As often, and again and again.
        RepetitionRange::AtLeast(least) => (*least, *least),
        RepetitionRange::Bounded(least, most) => (*least, *most),
    }
}

fn character(letter: char, any_case: bool) -> u64 {
    match letter {
        'k' | 'K' | 's' | 'S' if any_case => 5,
        letter if letter.is_ascii() => 1,
        _ => ONE_BEYOND_ASCII,
    }
}

/// Ranges of bytes, each an instruction, and what leads to them. Case is looked at in both orders, because engines
/// differ in whether they negate before or after.
fn class(set: Set, any_case: bool) -> u64 {
    if !any_case {
        return set.ranges() + if set.others { BEYOND_ASCII } else { 0 };
    }
    let both =
        |letter: char| set.has(letter.to_ascii_lowercase()) || set.has(letter.to_ascii_uppercase());
    let all =
        |letter: char| set.has(letter.to_ascii_lowercase()) && set.has(letter.to_ascii_uppercase());
    let widened = Set {
        ascii: Set::matching(both),
        ..set
    };
    let narrowed = Set {
        ascii: Set::matching(all),
        ..set
    };
    let others = if set.others {
        BEYOND_ASCII_WITH_HOLES
    } else {
        let folded = ['k', 's'].into_iter().filter(|letter| both(*letter));
        folded.map(|letter| character(letter, true)).sum()
    };
    widened.ranges().max(narrowed.ranges()).max(set.ranges()) + others
}
