use regex::bytes::RegexBuilder;

use super::*;
use crate::{pcre_under_conditions, re2};

/// Every path of up to so many of these letters.
pub(crate) fn texts() -> Vec<String> {
    let alphabets = [("aB/", 5), ("ab\n", 3), ("a.b", 4)];
    let all = alphabets.map(|(letters, longest)| words("/", letters, longest));
    all.concat()
}

/// Every text of up to so many of these letters, behind what all begin with.
pub(crate) fn words(begin: &str, letters: &str, longest: usize) -> Vec<String> {
    let (mut all, mut last) = (Vec::new(), vec![begin.to_owned()]);
    for _ in 0..=longest {
        all.extend(last.clone());
        let longer = |text: &String| {
            let text = text.clone();
            letters.chars().map(move |letter| format!("{text}{letter}"))
        };
        last = last.iter().flat_map(longer).collect();
    }
    all
}

/// Groups of a pattern as nginx has them, `None`: the path is not taken.
pub(crate) fn captured(pattern: &str, text: &str) -> Option<Vec<String>> {
    let found = oracle(pattern).captures(text).unwrap()?;
    let groups =
        (1..found.len()).map(|n| found.get(n).map_or("", |group| group.as_str()).to_owned());
    Some(groups.collect())
}

fn oracle(pattern: &str) -> fancy_regex::Regex {
    // PCRE's end is in front of a last line break, too.
    let pattern = pattern.replace('$', r"(?=\n?\z)");
    fancy_regex::Regex::new(&format!("(?i)^(?:{pattern})")).unwrap()
}

/// As RE2 in Envoy.
fn whole(pattern: &str) -> regex::bytes::Regex {
    let mut builder = RegexBuilder::new(&format!("^(?:{pattern})$"));
    builder.unicode(false).build().unwrap()
}

/// Compares a pattern in its own words with those for nginx and Envoy.
fn compare(pattern: &str, texts: &[String]) {
    let Some(found) = without_lookaround(pattern) else {
        panic!("{pattern} is not served")
    };
    let conditions = found.conditions.iter();
    let pcre = pcre_under_conditions(
        conditions.map(|condition| (condition.pattern.as_str(), condition.is_negative)),
        &found.pattern,
    );
    let (_, pcre) = pcre.split_once("(?i)^").unwrap();
    let (original, for_nginx) = (oracle(pattern), oracle(pcre));
    let for_envoy = whole(&re2(&found.pattern, Subject::Path, false));
    let conditions: Vec<_> = found
        .conditions
        .iter()
        .map(|condition| {
            (
                whole(&re2_condition(&condition.pattern).unwrap()),
                condition.is_negative,
            )
        })
        .collect();
    for text in texts {
        let [expected, nginx] = [&original, &for_nginx].map(|regex| {
            let found = regex.captures(text).unwrap()?;
            let groups = (1..found.len())
                .map(|n| found.get(n).map_or("", |group| group.as_str()).to_owned());
            Some(groups.collect::<Vec<_>>())
        });
        assert_eq!(nginx, expected, "{pattern}: {found:?}: {text:?}");
        if !text.contains('\n') {
            for query in ["", "?a/b"] {
                let target = format!("{text}{query}");
                let holds = |(regex, is_negative): &(regex::bytes::Regex, bool)| {
                    regex.is_match(target.as_bytes()) != *is_negative
                };
                let envoy = for_envoy.is_match(text.as_bytes()) && conditions.iter().all(holds);
                assert_eq!(
                    envoy,
                    expected.is_some(),
                    "{pattern}: {found:?}: {target:?}"
                );
            }
        }
    }
}

#[test]
fn what_people_write_takes_and_captures_the_same() {
    let texts = texts();
    for pattern in [
        "/(?!a)b",
        "/(?!ab).*b",
        "/(?!a)(.*)/b",
        "^/(?!.*a).*$",
        "/(?![ab]).*",
        "/(?!a+/).*",
        r"/(?!\w/).*",
        "/(?=a).*b",
        "/(?=.*b)(?!.*a)(.*)",
        "/a(?!b|$)(.*)",
        "/[^/]+/(?!a)(.*)",
        "/([^/]*)/(?!a|b)(.*)$",
        "/(a|b)(?!a)(.*)",
        "/((?!a/).*)/b",
        "/(?:(?!a).)*$",
        "^/((?!ab).)*$",
        "/((?!a(b|/)).)+$",
        "/a((?!b)[^/])*$",
        "/((?!a).)*?$",
        r"/.*(?<!\.b)$",
        r"/(.*)(?<!\.a|\.b)$",
        r"^/(.*(?<!\.(b)))$",
        r"/(.+)(?<=\.a)$",
        "/(a|b)*(?<!ab)$",
        "/(?!a).*(?<!b)$",
        "/[^b]*/.*(?<!ab)$",
        "/([^/]+)/(?=a)(.*)(?<!b)$",
    ] {
        compare(pattern, &texts);
    }
}

/// Whatever is written in other words is the same, and what is not remains.
#[test]
fn whatever_is_put_together_takes_the_same() {
    let texts: Vec<String> = texts().into_iter().step_by(3).collect();
    let mut written = 0;
    for head in [
        "/", "/a", "/(a|b)", "/a*", "/[^/]*/", "/(.)", "/(", "/(?:a|b/", "/(a+)/(", "/a?b", "/.*",
    ] {
        for look in [
            "(?!a)",
            "(?!.*b)",
            "(?=.*/)",
            "(?!(a)|b$)",
            "(?!a?)",
            "(?<!a)",
            "(?<!a|ab)",
            "(?<=b)",
            "(?!\\W)",
        ] {
            for tail in [
                "", ".*", "(.*)", "b", "$", "(a|b)*$", ".)*$", ".)+$", "[^b])*$", ".*)", ")$",
                "/?)*", "a|b", ")?b",
            ] {
                let pattern = format!("{head}{look}{tail}");
                if fancy_regex::Regex::new(&pattern).is_ok()
                    && without_lookaround(&pattern).is_some()
                {
                    compare(&pattern, &texts);
                    written += 1;
                }
            }
        }
    }
    assert!(written > 150, "{written}");
}

#[test]
fn what_has_more_than_one_place_or_more_than_a_place_needs_lookaround() {
    for pattern in [
        "/a",
        "/a*(?!b).*",
        "/.*(?!a)b",
        "/(?<!a)b",
        "/(?<=a)",
        "/[^b]*(?<!a)$",
        "/((?!a).*)*",
        "/((?!a).)*",
        "/((?!a?).)*$",
        "/((?=a).)*$",
        "/((?!a).|b)*$",
        "/(?!a)|/b",
        "/(a|(?!b).*)",
        "/(?=(a)).*",
        "/(?!(?=a)b).*",
        "/(?!a)*b",
        r"/(?!(a)\1).*",
        "/(?i)(?!a).*",
        "/(?-i:(?!a).*)",
        r"/\(?!a\).*",
        "/[(?!a)].*",
        "/(?!a",
        "/(?!a)(?!b)(?!aa)(?!bb)(?!ab).*",
        &format!("/(?!{}).*", "a".repeat(996)),
    ] {
        assert_eq!(without_lookaround(pattern), None, "{pattern}");
    }
}
