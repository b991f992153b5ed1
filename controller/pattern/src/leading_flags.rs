//! `(?i)` at the beginning of a pattern, which holds for all of it, also for alternatives: `(?i)a|b` is `(?i:a|b)`.
//!
//! Whoever reads a pattern of others makes it one with the flag in a group, so that nothing behind it meets another form.

use std::borrow::Cow;

const IN_ANY_CASE: &str = "(?i)";

/// The pattern behind `(?i)`, which finds the same in any case. `None`: it does not begin so, or what follows is no pattern by itself.
#[must_use]
pub fn behind_any_case(pattern: &str) -> Option<&str> {
    let rest = pattern.strip_prefix(IN_ANY_CASE)?;
    // A group would hide that one of its own is not open: `(?i)a)(b`.
    crate::parse(rest, crate::DEEPEST).is_ok().then_some(rest)
}

/// The same pattern without a flag that is not of a group. Groups that capture stay what they are.
#[must_use]
pub fn with_flags_in_groups(pattern: &str) -> Cow<'_, str> {
    match behind_any_case(pattern) {
        Some(rest) => Cow::Owned(format!("(?i:{rest})")),
        None => Cow::Borrowed(pattern),
    }
}

#[cfg(test)]
mod tests {
    use regex::bytes::Regex;

    use super::*;
    use crate::{Subject, check, pcre, re2};

    const SUBJECTS: [Subject; 5] = [
        Subject::Path,
        Subject::InPath,
        Subject::InPathInAnyCase,
        Subject::Text,
        Subject::TextInAnyCase,
    ];

    #[test]
    fn a_flag_at_the_beginning_is_one_of_a_group_around_all() {
        let texts = [
            "/a", "/A", "/b", "/B", "/ab", "/aB/x", "/x/A", "/x", "x", "", "/", "/AA",
        ];
        for rest in [
            "/a", "^/A$", "a|b", "/a$|x", "(a)(B)?", "[A-B]{2}", "", "(?:a|x)$", r"/\w",
        ] {
            let written = format!("(?i){rest}");
            let read = with_flags_in_groups(&written);
            let [as_written, as_read] = [&*written, &*read].map(|text| Regex::new(text).unwrap());
            assert_eq!(as_read.captures_len(), as_written.captures_len());
            for text in texts.map(str::as_bytes) {
                let [one, other] = [&as_written, &as_read].map(|regex| {
                    regex.captures(text).map(|groups| {
                        let ranges = groups.iter().map(|it| it.map(|it| it.range()));
                        ranges.collect::<Vec<_>>()
                    })
                });
                assert_eq!(one, other, "{written}: {text:?}");
            }
            for subject in SUBJECTS {
                let shape = check(&read, subject).unwrap_or_else(|why| panic!("{read}: {why}"));
                assert!(!shape.alternatives, "{read}");
                assert!(Regex::new(&re2(&read, subject, false)).is_ok(), "{read}");
                assert!(pcre(&read, subject, false).contains("(?i:"), "{read}");
            }
        }
    }

    #[test]
    fn flags_elsewhere_are_refused() {
        for pattern in [
            "/(?i)a",
            "a(?i)b",
            "(?s)a",
            "(?is)a",
            "(?-i)a",
            "(?i)a)(b",
            "(?i)*a",
            "(?i)(?i)a",
            "(?i)a(?s)b",
            r"(?i)a\",
            "(?i)[a",
            "(?i)(a",
        ] {
            let read = with_flags_in_groups(pattern);
            for subject in SUBJECTS {
                assert!(check(&read, subject).is_err(), "{pattern}");
            }
        }
    }
}
