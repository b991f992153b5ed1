//! The first group of a pattern, where it always holds a path: what a target begins with that begins with `$1`.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// True if the first group always begins with a slash where the pattern is found in a path: its text does, or it begins where the path
/// begins, and is not empty. False in doubt.
#[must_use]
pub fn first_group_begins_with_slash(pattern: &str) -> bool {
    let Ok(hir) = regex_syntax::parse(pattern) else {
        return false;
    };
    let parts = match hir.kind() {
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(&hir),
    };
    let is_without = |part: &&Hir| part.properties().explicit_captures_len() == 0;
    let before = parts.iter().take_while(is_without).count();
    let (before, rest) = parts.split_at(before);
    let Some((HirKind::Capture(group), behind)) =
        rest.split_first().map(|(first, rest)| (first.kind(), rest))
    else {
        return false;
    };
    let is_start = |part: &Hir| matches!(part.kind(), HirKind::Look(Look::Start));
    let is_first = !before.is_empty() && before.iter().all(is_start);
    begins(&group.sub, is_first) || is_first && !may_be_empty(&group.sub, behind)
}

/// `is_first`: it is where the path begins, which is not its end.
fn begins(hir: &Hir, is_first: bool) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.starts_with(b"/"),
        HirKind::Look(Look::End) => is_first,
        HirKind::Capture(group) => begins(&group.sub, is_first),
        HirKind::Alternation(all) => all.iter().all(|one| begins(one, is_first)),
        HirKind::Repetition(repetition) => repetition.min > 0 && begins(&repetition.sub, is_first),
        HirKind::Concat(all) => {
            let mut all = all.iter();
            let first = all.find(|one| !matches!(one.kind(), HirKind::Look(Look::Start)));
            first.is_some_and(|one| begins(one, is_first))
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => false,
    }
}

/// True if a group at the beginning of a path may be empty: it takes nothing, and what is behind it would do so.
fn may_be_empty(group: &Hir, behind: &[Hir]) -> bool {
    let needs_some = group.properties().minimum_len() > Some(0);
    let takes_all = match behind {
        [end] => matches!(end.kind(), HirKind::Look(Look::End)),
        // As much as there is.
        [] => {
            matches!(group.kind(), HirKind::Repetition(all) if all.greedy && all.max != Some(0) && takes_slash(&all.sub))
        }
        _ => false,
    };
    !(needs_some || takes_all)
}

fn takes_slash(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            let mut ranges = class.ranges().iter();
            ranges.any(|range| (range.start()..=range.end()).contains(&'/'))
        }
        HirKind::Class(Class::Bytes(class)) => {
            let mut ranges = class.ranges().iter();
            ranges.any(|range| (range.start()..=range.end()).contains(&b'/'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// Short paths of a few letters.
    fn paths() -> Vec<String> {
        let mut all = vec!["/".to_owned()];
        for length in 0..4 {
            let longest = all.iter().filter(|path| path.len() == length + 1);
            let longer =
                longest.flat_map(|path| ["a", "b", "/", "A"].map(|it| format!("{path}{it}")));
            let longer: Vec<_> = longer.collect();
            all.extend(longer);
        }
        all
    }

    fn holds(pattern: &str) -> bool {
        let regex = Regex::new(pattern).unwrap();
        let groups = paths().into_iter().filter_map(|path| {
            let groups = regex.captures(&path)?;
            let first = groups.get(1);
            Some(first.map_or(String::new(), |group| group.as_str().to_owned()))
        });
        groups.into_iter().all(|group| group.starts_with('/'))
    }

    #[test]
    fn a_group_that_is_a_path_is_one_for_every_path() {
        for pattern in [
            "^(.*)$",
            "^(.*)",
            "^(.+)/a",
            "^(.*?)$",
            "^(/.*)$",
            "(/.*)",
            "^/a(/.*)$",
            "^/a(/b?)",
            "^(/a|/b)(.*)$",
            "^($|/)",
            "(?i:^(/A.*)$)",
            "(?i:^(.*)$)",
            "^([^b]*)",
            "^((/.)+)",
        ] {
            assert!(first_group_begins_with_slash(pattern), "{pattern}");
        }
        for pattern in [
            "^(.*?)",
            "^(.*)/a$",
            "^(a*)",
            "^([^/]*)",
            "(.*)",
            "/(.*)",
            "^/(.*)$",
            "^/a(/.*)?$",
            "^/a(.*)$",
            "^/a(/?)",
            "^/a(/b|a)",
            "^(/.*)$|b",
            "^/a($|/)",
            "/a",
            "^",
            "(?i:a)(/)?",
            "^/(a)(/)",
        ] {
            assert!(!first_group_begins_with_slash(pattern), "{pattern}");
        }
    }

    #[test]
    fn whatever_is_put_together_is_never_taken_for_a_path_that_is_none() {
        let begins = ["", "^", "^/", "/a", "^/a?", "(?:^|b)"];
        let groups = [
            "(.*)", "(.+)", "(.*?)", "(.+?)", "(/.*)", "(/?)", "($|/)", "(a|/)", "(|/)", "(/a|/)",
            "([^b]*)", "(a*)", "((/)|a)", "(/)*", "(/)+", "(/|$)?", "(^/)", "(^)", "(\\b)",
            "(/{0})",
        ];
        let ends = ["", "$", "a", "/", "(.*)", "/?$", "?", "|a", "|(/)", "b*$"];
        let mut taken = 0;
        for begin in begins {
            for group in groups {
                for end in ends {
                    let pattern = format!("{begin}{group}{end}");
                    if Regex::new(&pattern).is_ok() && first_group_begins_with_slash(&pattern) {
                        assert!(holds(&pattern), "{pattern}");
                        taken += 1;
                    }
                }
            }
        }
        assert!(taken > 100, "{taken}");
    }
}
