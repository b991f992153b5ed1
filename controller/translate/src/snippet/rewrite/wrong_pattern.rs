//! Reasons why the pattern of a condition or a redirect is not served.

use sluice_pattern::Subject;

use super::conditions::without_brackets;

/// Why the words after `if` cannot be read, where that is their pattern.
pub(super) fn wrong_pattern(words: &[&str]) -> Option<String> {
    let words = without_brackets(words)?;
    let [_, "~" | "!~" | "~*" | "!~*", pattern] = words.as_slice() else {
        return None;
    };
    let pattern = sluice_pattern::with_flags_in_groups(pattern);
    let wrong = sluice_pattern::check(&pattern, Subject::Text).err()?;
    Some(not_shared(&wrong))
}

/// Reason why a pattern is not served: with the same words on each data plane.
pub(super) fn not_shared(wrong: &str) -> String {
    let instead = match wrong {
        sluice_pattern::LOOKAROUND => {
            " (compare what is excluded with !~ in an if of its own; the pattern of a location may have (?!...) with nothing or .* behind it)"
        }
        _ => "",
    };
    format!("expected a regular expression that Sluice supports, got {wrong}{instead}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_no_engine_and_the_lookahead_that_is_served() {
        let wrong = |pattern: &str| wrong_pattern(&["($uri", "~", pattern]).unwrap_or_default();
        let said = wrong("^/(?!api))");
        for part in ["that Sluice supports", "(?!...)", "with !~", "a location"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!wrong("(a)\\1)").contains("!~"));
        assert_eq!(wrong("a)"), "");
    }
}
