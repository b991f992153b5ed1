use fancy_regex::Regex;

use super::*;
use crate::{Subject, check, re2};

#[test]
fn what_has_several_words_has_common_ones() {
    for (pattern, expected) in [
        ("/(?<n>[a-z]+)/(?P<m>.)", "/([a-z]+)/(.)"),
        ("/(?P<P>a)", "/(a)"),
        ("/a(?i)b|c", "/a(?i:b)|(?i:c)"),
        ("/(a(?i)b|c)d", "/(a(?i:b)|(?i:c))d"),
        ("/a(?i)b(?-i)c|d", "/a(?i:b)(?-i:c)|(?-i:d)"),
        ("/(?s).*|.", r"/[\s\S]*|[\s\S]"),
        ("/(?s:.)(?i-s:.)(?-s).", r"/(?:[\s\S])(?i:.)."),
        ("/(?is)a.", r"/(?i:a[\s\S])"),
        (r"/\x41\x{2e}[\x41-\x5a\x5d]", r"/A\.[A-Z\]]"),
        (r"/\Qa.b\E+\Qc|", r"/a\.b+c\|"),
        (r"/(\A|b\Z|c\z)", r"/(^|b$|c\z)"),
        (r"/(?<n>a)(?<!b)(?=(?<m>.))", "/(a)(?<!b)(?=(.))"),
        (r"/[(?i).\x3c]", r"/[(?i).<]"),
        (r"/(?<n>a)\1\\x41", r"/(a)\1\\x41"),
    ] {
        assert_eq!(in_common_words(pattern), expected, "{pattern}");
        let again = in_common_words(expected);
        assert_eq!(again, expected, "{pattern}");
    }
}

#[test]
fn groups_have_names() {
    let names: Vec<_> = group_names("/(?<a>.)(?P<b_1>(?:.)(?<=c))(?<=d>)(.)").collect();
    assert_eq!(names, ["a", "b_1"]);
}

#[test]
fn what_is_not_surely_the_same_is_refused() {
    for pattern in [
        "/(?<n>a)(?<n>b)",
        "/(?<uri>a)",
        "/(?<arg_a>a)",
        "/(?<1n>a)",
        "/(?<>a)",
        "/(?<n>?i)a",
        "/(?<n>?:a)",
        "/(?P<n>?<m>a)",
        "/(?<n>*ACCEPT)a",
        "/(?m)a$",
        "/(?x)a",
        "/(?U)a*",
        "/(?J)a",
        "/(?)a",
        "/(?-)a",
        "/a(?i)*",
        "/a(?s)*",
        "/a(?i){2}",
        "/(?R)",
        "/(?1)",
        "/(?|a)",
        "/(?#a)",
        "/(*ACCEPT)(?s).",
        r"/(?<n>a)\k<n>",
        r"/\p{L}",
        r"/\pL",
        r"/\x00",
        r"/\x0a",
        r"/\xe9",
        r"/\x{e9}",
        r"/\x4",
        r"/\x4\x31",
        r"/\x(?s)41",
        r"/\x\Q41\E",
        r"/[\x4\x31]",
        "/a{2(?s)}",
        r"/a{\x32}",
        r"/a{\Q2\E}",
        r"/a{(?<n>2)}",
        r"/\Q\E",
        r"/a\Q\E*",
        r"/a\E*",
        r"/[\Qa\E]",
        r"/[\A]",
        r"/\G",
        r"/\h",
        r"/\N",
        r"/\101",
        "/(?s)(",
        "/(?s).)",
    ] {
        let read = in_common_words(pattern);
        assert!(check(&read, Subject::Path).is_err(), "{pattern}: {read}");
    }
}

/// Parts of patterns, and what they stand between.
const PARTS: &[&str] = &[
    "a",
    "B",
    "(?i)",
    "(?s)",
    "(?-s)",
    "(?<n>",
    "(?P<m>",
    "(?s:",
    "(?i:",
    "(",
    ")",
    "|",
    ".",
    ".*",
    r"\x41",
    r"[\x41-\x42]",
    r"\Q.b\E",
    r"\A",
    r"\z",
    "+",
    "?",
    "?i)",
    "a{2",
    "{",
    "}",
    r"\x32",
    r"\x4",
    r"\1",
    "$",
];
const TEXTS: &[&str] = &[
    "/", "/a", "/A", "/b", "/B", "/ab", "/aB", "/AB", "/aa", "/a.b", "/.b", "/ba", "/a\n", "/\n",
    "/\nb", "/aab", "/BA",
];

/// Groups of a text, as an engine says that reads all of these words.
fn captured(pattern: &str, text: &str) -> Option<Option<Vec<Option<String>>>> {
    let regex = Regex::new(&format!("^{pattern}")).ok()?;
    let found = regex.captures(text).ok()?;
    let groups = |found: fancy_regex::Captures<'_, str>| {
        let groups = found.iter();
        groups
            .map(|group| group.map(|group| group.as_str().to_owned()))
            .collect()
    };
    Some(found.map(groups))
}

#[test]
fn common_words_take_and_capture_the_same() {
    let (mut seed, mut compared) = (1_u64, 0);
    let mut random = |most: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % most
    };
    for _ in 0..6_000 {
        let length = 2 + random(7);
        let parts: String = (0..length).map(|_| PARTS[random(PARTS.len())]).collect();
        let pattern = format!("/{parts}");
        let read = in_common_words(&pattern);
        assert_eq!(in_common_words(&read), read, "{pattern}");
        if read == pattern || check(&read, Subject::Path).is_err() {
            continue;
        }
        let alternatives = check(&read, Subject::Path).unwrap().alternatives;
        assert!(!re2(&read, Subject::Path, alternatives).starts_with("(("));
        for text in TEXTS {
            let Some(expected) = captured(&pattern, text) else {
                continue;
            };
            assert_eq!(captured(&read, text), Some(expected), "{pattern}: {text:?}");
            compared += 1;
        }
    }
    assert!(compared > 1_500, "{compared}");
}
