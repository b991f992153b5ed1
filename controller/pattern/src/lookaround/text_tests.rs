//! Values of headers, against an engine that goes back.

use super::tests::words;
use super::*;

fn texts() -> Vec<String> {
    let alphabets = [("ab", 7), ("aB-", 4), ("ab.", 4)];
    let all = alphabets.map(|(letters, longest)| words("", letters, longest));
    all.concat()
}

fn engine(pattern: &str) -> regex::Regex {
    regex::Regex::new(pattern).unwrap()
}

/// True if the pattern is served in other words, which then say the same.
fn is_the_same(pattern: &str, texts: &[String]) -> bool {
    let Some(found) = of_text_without_lookaround(pattern) else {
        return false;
    };
    let original = fancy_regex::Regex::new(pattern).unwrap();
    let conditions = found.conditions.iter();
    let conditions: Vec<_> = conditions
        .map(|condition| (engine(&condition.pattern), condition.is_negative))
        .collect();
    let rest = engine(&found.pattern);
    for text in texts {
        let mut conditions = conditions.iter();
        let holds =
            rest.is_match(text) && conditions.all(|(regex, not)| regex.is_match(text) != *not);
        let expected = original.is_match(text).unwrap();
        assert_eq!(holds, expected, "{pattern}: {found:?}: {text:?}");
    }
    true
}

#[test]
fn what_people_write_is_a_conjunction() {
    let texts = texts();
    for pattern in [
        "^(?!a$).*",
        "^(?!a$).*$",
        "^(?!(a|ab)$)",
        "^(?!.*ab)",
        "^(?=.*a)(?=.*b).*$",
        "^(?=.*(a|b-))a",
        "^((?!ab).)*$",
        "^(?:(?!a|b-).)+$",
        r"(?<!\.b)$",
        r"a.*(?<!\.b|-)$",
        "^(?!a)[a-b]*(?<!b)$",
        "^[ab]+-(?!a)",
        "^a(?!b)(?!-)",
        "^(a(?!b))",
        "^(?!ab)(?!ba)(?!aa)(?!bb)",
        "^(?=a)(?!ab$)[ab]*$",
    ] {
        assert!(is_the_same(pattern, &texts), "{pattern} is not served");
    }
}

#[test]
fn a_lookbehind_that_pcre_refuses_is_not_served() {
    for pattern in ["(?<!a+)$", "^.*(?<!a*b)$", "(?<!(a|bc))$", "(?<!a|b{1,2})$"] {
        assert!(of_text_without_lookaround(pattern).is_none(), "{pattern}");
    }
    for pattern in ["(?<!a|bc)$", "(?<!(a|b)c)$", r"(?<!\d{3}-.)$"] {
        assert!(of_text_without_lookaround(pattern).is_some(), "{pattern}");
    }
}

const PARTS: [&str; 40] = [
    "a",
    "b",
    "-",
    ".",
    r"\.",
    "[ab]",
    "[^a]",
    "a*",
    "b+",
    "a?",
    ".*",
    ".+",
    "[^-]*",
    "(a|b)",
    "(?:ab|b)",
    "(?!a)",
    "(?!ab$)",
    "(?!.*b)",
    "(?!(a|b-)$)",
    "(?!a*-)",
    "(?=.*b)",
    "(?=(a|-))",
    "(?=[ab]+$)",
    "(?<!a)",
    "(?<!b)$",
    "(?<=b)",
    "(?<=a|-)$",
    "(?<![ab]{2})$",
    "((?!ab).)*$",
    "(?:(?!b-).)+$",
    "((?!a)[ab])*",
    "^",
    "$",
    "|",
    "?",
    "*",
    "(",
    ")",
    "(?:",
    "{2}",
];

/// Of random parts in a random order, most of which need lookaround or are none.
#[test]
fn whatever_is_served_holds_for_the_same_values() {
    let texts = texts();
    let mut state = 7_usize;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut served, mut tried) = (0, 0);
    for _ in 0..20_000 {
        let mut pattern = ["^", "^", ""][next(3)].to_owned();
        for _ in 0..1 + next(5) {
            pattern.push_str(PARTS[next(PARTS.len())]);
        }
        if pattern.contains("(?") && fancy_regex::Regex::new(&pattern).is_ok() {
            tried += 1;
            served += usize::from(is_the_same(&pattern, &texts));
        }
    }
    assert!(served > 300 && served < tried / 2, "{served} of {tried}");
}

#[test]
fn what_has_more_than_one_place_stays_as_it_is() {
    for pattern in [
        "a",
        "(?!a)b",
        "b(?=a)",
        "(?<=a)b",
        "^.*(?!a)",
        "^a*(?!b)",
        "^(?!a)|b",
        "^(a|(?!b))",
        "^((?!a)b)*",
        "^(?!(?=a)b)",
        r"^(?!(a)\1)",
        "(?i)^(?!a)",
        "^(?!a",
        "(?:^(?!a))",
        "^(?!a)(?!b)(?!aa)(?!bb)(?!ab)",
    ] {
        assert_eq!(of_text_without_lookaround(pattern), None, "{pattern}");
    }
}
