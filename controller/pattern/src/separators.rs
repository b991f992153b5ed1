//! Patterns that do not see how pieces of a text are joined.

use regex_syntax::ast::Ast;

use crate::DEEPEST;
use crate::class_set::Set;

/// True if whatever a pattern takes has none of these characters of ASCII in it: it is found in one piece of a text or in none,
/// whatever of them is between the pieces. None of them is a letter of a word.
#[must_use]
pub fn takes_none_of(pattern: &str, separators: &str) -> bool {
    let all = separators.chars().fold(Set::NONE, Set::with);
    crate::parse(pattern, DEEPEST).is_ok_and(|ast| is_without(&ast, all))
}

fn is_without(ast: &Ast, separators: Set) -> bool {
    let set = match ast {
        Ast::Empty(_) | Ast::Flags(_) | Ast::Assertion(_) => return true,
        Ast::Literal(literal) => Set::of_range(literal.c, literal.c),
        Ast::Dot(_) => Set::of_dot(false),
        Ast::ClassPerl(class) => Set::of_perl(class),
        Ast::ClassBracketed(class) => Set::of(class),
        // No pattern that was checked has them.
        Ast::ClassUnicode(_) => return false,
        Ast::Repetition(repetition) => return is_without(&repetition.ast, separators),
        Ast::Group(group) => return is_without(&group.ast, separators),
        Ast::Alternation(alternation) => {
            let mut all = alternation.asts.iter();
            return all.all(|ast| is_without(ast, separators));
        }
        Ast::Concat(concat) => {
            let mut all = concat.asts.iter();
            return all.all(|ast| is_without(ast, separators));
        }
    };
    set.ascii & separators.ascii == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_no_separator_is_within_a_piece() {
        for good in ["beta=1", "^(a|b)=[a-z]+$", r"\bbeta=\w*", "[^;, ]+=1", "é"] {
            assert!(takes_none_of(good, ";, "), "{good}");
        }
        for bad in [
            "a; b",
            "(^|; )a=1",
            "a=.*b",
            "a=[^;]*",
            r"a\S",
            r"a\s",
            "(a|,)",
            "(",
        ] {
            assert!(!takes_none_of(bad, ";, "), "{bad}");
        }
    }
}
