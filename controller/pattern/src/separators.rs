//! Patterns that do not see how pieces of a text are joined.

use crate::DEEPEST;
use crate::ast::is_without;
use crate::class_set::Set;

/// True if whatever a pattern takes has none of these characters of ASCII in it: it is found in one piece of a text or in none,
/// whatever of them is between the pieces. None of them is a letter of a word.
#[must_use]
pub fn takes_none_of(pattern: &str, separators: &str) -> bool {
    let all = separators.chars().fold(Set::NONE, Set::with);
    crate::parse(pattern, DEEPEST).is_ok_and(|ast| is_without(&ast, all))
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
