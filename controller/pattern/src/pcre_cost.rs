//! Cost of a pattern in PCRE, which copies a group as often as it is repeated and compiles to 64 KiB at the most: nginx
//! refuses a larger one, and all of its configuration with it.

use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};

/// PCRE's own limit is 65535; this is an estimate from above.
pub(crate) const MOST_BYTES: u64 = 60_000;
/// The frame of a group or of a repetition, and a copy of a character in UTF-8.
const FRAME: u64 = 16;
/// 256 bits, and what stands around them.
const CLASS: u64 = 48;

/// Bytes, or some more.
pub(crate) fn bytes(ast: &Ast) -> u64 {
    match ast {
        Ast::Literal(_) => 5,
        Ast::ClassBracketed(_) | Ast::ClassUnicode(_) | Ast::ClassPerl(_) => CLASS,
        Ast::Empty(_) | Ast::Flags(_) | Ast::Dot(_) | Ast::Assertion(_) => 2,
        Ast::Repetition(repetition) => {
            let one = bytes(&repetition.ast) + FRAME;
            // Of anything but a group the number of repetitions is written down.
            let is_copied = matches!(*repetition.ast, Ast::Group(_));
            if is_copied {
                one.saturating_mul(copies(&repetition.op.kind))
            } else {
                one * 2
            }
        }
        Ast::Group(group) => bytes(&group.ast).saturating_add(FRAME),
        Ast::Alternation(alternation) => sum(&alternation.asts),
        Ast::Concat(concat) => sum(&concat.asts),
    }
}

fn sum(asts: &[Ast]) -> u64 {
    asts.iter()
        .fold(FRAME, |sum, ast| sum.saturating_add(bytes(ast) + 3))
}

fn copies(kind: &RepetitionKind) -> u64 {
    let most = match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore | RepetitionKind::OneOrMore => 1,
        RepetitionKind::Range(RepetitionRange::Exactly(most)) => *most,
        RepetitionKind::Range(RepetitionRange::AtLeast(least)) => least.saturating_add(1),
        RepetitionKind::Range(RepetitionRange::Bounded(_, most)) => *most,
    };
    u64::from(most.max(1))
}
