//! Questions about parts of a pattern as it was parsed.

use regex_syntax::ast::{Ast, RepetitionKind, RepetitionRange};

use crate::class_set::Set;

/// Characters of a part that takes one, whatever case they have; `None`: it takes another number of them, or is a group.
pub(crate) fn letter(ast: &Ast) -> Option<Set> {
    let set = match ast {
        Ast::Literal(literal) => Set::of_range(literal.c, literal.c),
        Ast::Dot(_) => Set::of_dot(false),
        Ast::ClassPerl(class) => Set::of_perl(class),
        Ast::ClassBracketed(class) => Set::of(class),
        _ => return None,
    };
    Some(set.in_any_case())
}

/// True if no text that a pattern takes has one of these characters of ASCII in it. Of a letter both cases count.
pub(crate) fn is_without(ast: &Ast, characters: Set) -> bool {
    match ast {
        Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => true,
        Ast::Repetition(repetition) => is_without(&repetition.ast, characters),
        Ast::Group(group) => is_without(&group.ast, characters),
        Ast::Alternation(alternation) => {
            let mut all = alternation.asts.iter();
            all.all(|ast| is_without(ast, characters))
        }
        Ast::Concat(concat) => concat.asts.iter().all(|ast| is_without(ast, characters)),
        one => letter(one).is_some_and(|set| set.ascii & characters.ascii == 0),
    }
}

/// True if what is repeated may be left out.
pub(crate) fn is_optional(kind: &RepetitionKind) -> bool {
    match kind {
        RepetitionKind::ZeroOrOne | RepetitionKind::ZeroOrMore => true,
        RepetitionKind::OneOrMore => false,
        RepetitionKind::Range(
            RepetitionRange::Exactly(least)
            | RepetitionRange::AtLeast(least)
            | RepetitionRange::Bounded(least, _),
        ) => *least == 0,
    }
}
