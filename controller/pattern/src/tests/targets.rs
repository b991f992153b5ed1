//! Patterns of paths and of other parts of a target, beside what nginx compares.

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::{Subject, TargetPart, check, encoded_path, re2, re2_first, re2_target, with_query};

const PATTERNS: &[&str] = &[
    "a",
    "^a",
    "a$",
    "^a$",
    "^/a",
    "^/a/(.*)$",
    "^/a(/.*)?$",
    "^$",
    "^/$",
    "",
    "(^|&)b=",
    "b|^c$",
    "(a|^b)c",
    "^(a|b)+$",
    "^.$",
    "^/.$",
    "^/..?$",
    "[^/]$",
    "[^a-c]",
    r"^/[\w-]+$",
    r"\.php$",
    r"\d+",
    r"\D",
    r"\s",
    r"\S$",
    r"[^\S]",
    r"[{\\]",
    r"a\\b",
    r"^/\S+$",
    "/a b",
    "é",
    "^/é$",
    "%",
    r"\?",
    "#",
    "^/[^/]+/b$",
    "(?i:A)b",
    "^(?:a|B)$",
    "a{2}",
    "^/(a|b){1,2}$",
    "=",
    "&",
    "^[^&]*$",
    "[!-~]",
    "(b)?$",
    "x*",
    "^=?1$",
];

const BOUNDARIES: &[&str] = &[r"\ba", r"1\b", r"\Ba", r"^\b", r"\B", r"\b$"];

/// The same behind what is unencoded in each path.
const BOUNDARIES_IN_PATHS: &[&str] = &[
    r"1\b",
    r"/\B",
    r"(a|b)\b",
    r"[a-z]+\b",
    r"(?:a|bc)\b",
    r"/a?b\b",
    r"\w{1,2}\b",
];

const REFUSED_IN_PATHS: &[&str] = &[
    r"\ba", r"\Ba", r"^\b", r"\B", r"\b$", r"(a|.)\b", r"[^a]\b", r"b?\b", r"%\b", r"é\b",
];

const TARGETS: &[&str] = &[
    "/",
    "/a",
    "/A",
    "/b",
    "/ab",
    "/aa",
    "/a/b",
    "/a/b/",
    "/a/1",
    "/x.php",
    "/x.php%0A",
    "/a%20b",
    "/a%20b%20",
    "/a%0Ab",
    "/a%0B",
    "/%7Ba%7D",
    "/a%5Cb",
    "/A%25b.php",
    "/%20",
    "/%C3%A9",
    "/a%C3%A9",
    "/%25",
    "/%3Fa",
    "/%23",
    "/a/%7F",
    "/a-_1",
    "/bc",
    "/ac",
    "/c",
];

const QUERIES: &[&str] = &[
    "",
    "?",
    "?a",
    "?a=",
    "?a=1",
    "?A=1",
    "?b=1&a=2",
    "?ab=1&a=b",
    "?a&a=c",
    "?a=1&a=2",
    "?b=&a==1",
    "?aa=1",
    "?xa=1",
    "?a=a?b",
    "?=1",
    "?&a=1",
    "?a=%20",
    "?c",
    "?b=a&",
    "?a=A-b&c=d",
    "?a=/a?",
    "??a=1",
    "?a=1&b=2",
];

fn regex(pattern: &str, any_case: bool) -> Regex {
    let mut builder = RegexBuilder::new(pattern);
    builder.unicode(false).case_insensitive(any_case);
    builder.build().unwrap()
}

/// As PCRE looks for it, to which the end is also before a line break.
fn is_found(regex: &Regex, text: &[u8]) -> bool {
    let before_break = text.strip_suffix(b"\n");
    regex.is_match(text) || before_break.is_some_and(|text| regex.is_match(text))
}

fn decoded(path: &str) -> Vec<u8> {
    let mut bytes = path.bytes();
    let mut all = Vec::new();
    while let Some(byte) = bytes.next() {
        all.push(match byte {
            b'%' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    all
}

/// As `ngx_http_arg` finds it.
fn argument<'a>(name: &str, query: &'a str) -> &'a str {
    let values = query.split('&').filter_map(|parameter| {
        let (start, rest) = parameter.split_at_checked(name.len())?;
        let value = rest.strip_prefix('=')?;
        start.eq_ignore_ascii_case(name).then_some(value)
    });
    values.into_iter().next().unwrap_or_default()
}

fn part(part: TargetPart<'_>, path: &str, query: &str) -> Vec<u8> {
    let query = query.strip_prefix('?').unwrap_or_default();
    match part {
        TargetPart::Path => decoded(path),
        TargetPart::Query => query.into(),
        TargetPart::Argument(name) => argument(name, query).into(),
        TargetPart::Host => unreachable!("it is not in the target"),
    }
}

/// As Envoy compares a header.
fn as_header(written: &str) -> Regex {
    regex(&format!("^(?:{written})$"), false)
}

#[test]
fn a_part_is_compared_within_the_whole_target() {
    let all = [
        TargetPart::Path,
        TargetPart::Query,
        TargetPart::Argument("a"),
        TargetPart::Argument("ab"),
    ];
    for pattern in PATTERNS.iter().chain(BOUNDARIES) {
        check(pattern, Subject::Text).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        for asked in all {
            for any_case in [false, true] {
                let Some(written) = re2_target(asked, pattern, any_case) else {
                    assert!(asked == TargetPart::Path && BOUNDARIES.contains(pattern));
                    continue;
                };
                let [found, taken] = [regex(pattern, any_case), as_header(&written)];
                for path in TARGETS {
                    for query in QUERIES {
                        let target = format!("{path}{query}");
                        let text = part(asked, path, query);
                        assert_eq!(
                            taken.is_match(target.as_bytes()),
                            is_found(&found, &text),
                            "{pattern} (any case: {any_case}): {asked:?} of {target}: {written}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_host_is_compared_in_lower_case_and_without_its_port() {
    let hosts = [
        "a", "A", "b", "bC", "ab.a", "A-b.TEST", "1.2.3.4", "a.php", "a_1",
    ];
    let of_hosts = [
        r"^www\.",
        r"^\[",
        "a-b[.]",
        "[A-Z]",
        "[^A-Z]b",
        "A",
        r"^[\d.]+$",
        r"^[\d:\[\]]+$",
    ];
    for pattern in PATTERNS.iter().chain(BOUNDARIES).chain(&of_hosts) {
        for any_case in [false, true] {
            let written = re2_target(TargetPart::Host, pattern, any_case).unwrap();
            let [found, taken] = [regex(pattern, any_case), as_header(&written)];
            for host in hosts {
                let lower = host.to_ascii_lowercase();
                for (behind, may_be_taken) in
                    [("", ""), (":80", ""), (":", ""), (".", "."), (".:80", ".")]
                {
                    let is_expected = is_found(&found, lower.as_bytes())
                        || is_found(&found, format!("{lower}{may_be_taken}").as_bytes());
                    assert_eq!(
                        taken.is_match(format!("{host}{behind}").as_bytes()),
                        is_expected,
                        "{pattern} (any case: {any_case}) in {host}{behind}: {written}"
                    );
                }
            }
        }
    }
}

#[test]
fn names_of_parameters_may_be_long() {
    for name in ["lang", "page_size", "utm_campaign"] {
        let written = re2_target(TargetPart::Argument(name), "^(en|de)?$", false).unwrap();
        let taken = as_header(&written);
        for (query, expected) in [
            (format!("{name}=en"), true),
            (format!("{name}x=fr&{name}=en&{name}=fr"), true),
            (format!("{name}&{name}=fr"), false),
            (format!("{}=fr", &name[1..]), true),
            (
                format!("{}=fr&{}=fr", &name[..2], name.to_uppercase()),
                false,
            ),
        ] {
            let target = format!("/?{query}");
            assert_eq!(taken.is_match(target.as_bytes()), expected, "{target}");
        }
    }
    let longest = "a_b".repeat(13);
    let too_large = re2_target(TargetPart::Argument(&longest), "^(en|de)?$", false);
    assert_eq!(too_large, None);
}

const WAYS: [(Subject, bool); 3] = [
    (Subject::Path, true),
    (Subject::InPath, false),
    (Subject::InPathInAnyCase, true),
];

#[test]
fn a_boundary_behind_what_may_be_encoded_is_refused() {
    for pattern in REFUSED_IN_PATHS {
        for (subject, _) in WAYS {
            let reason = check(pattern, subject).unwrap_err();
            assert!(reason.contains(r"\b or \B"), "{pattern}: {reason}");
        }
    }
}

/// Each pattern, each canonical path, and each way to compare them, with the query behind the path and without it.
#[test]
fn a_pattern_takes_a_canonical_path_as_nginx_takes_what_the_path_means() {
    for pattern in PATTERNS.iter().chain(BOUNDARIES_IN_PATHS) {
        for (subject, any_case) in WAYS {
            let shape = check(pattern, subject).unwrap();
            let written = re2(pattern, subject, shape.alternatives);
            let taken = as_header(&written);
            let taken_with_query = as_header(&with_query(&written).unwrap());
            let first = re2_first(pattern, subject, shape.alternatives);
            let first = as_header(&first);
            let found = match subject {
                Subject::Path => regex(&format!("^{pattern}"), any_case),
                _ => regex(pattern, any_case),
            };
            for path in TARGETS {
                let meaning = decoded(path);
                let expected = is_found(&found, &meaning);
                let of = format!("{pattern} as {subject:?} of {path}: {written}");
                assert_eq!(taken.is_match(path.as_bytes()), expected, "{of}");
                for query in QUERIES {
                    let target = format!("{path}{query}");
                    let is_taken = taken_with_query.is_match(target.as_bytes());
                    assert_eq!(is_taken, expected, "{of}, {query}");
                }
                // An end before the line break is another place.
                if path.ends_with("%0A") {
                    continue;
                }
                let groups = |captures: Captures<'_>| -> Vec<Vec<u8>> {
                    let groups = captures.iter().skip(1);
                    let text = groups.map(|group| group.map_or(&b""[..], |group| group.as_bytes()));
                    text.map(<[u8]>::to_vec).collect()
                };
                let own = first.captures(path.as_bytes()).map(groups);
                let own = own.map(|all| {
                    let texts = all.into_iter();
                    texts
                        .map(|text| decoded(std::str::from_utf8(&text).unwrap()))
                        .collect::<Vec<_>>()
                });
                assert_eq!(own, found.captures(&meaning).map(groups), "{of}");
            }
        }
    }
}

#[test]
fn a_text_is_encoded_as_it_is_in_a_canonical_path() {
    for path in TARGETS {
        let text = String::from_utf8(decoded(path)).unwrap();
        assert_eq!(encoded_path(&text), *path);
    }
}

#[test]
fn groups_of_a_path_are_what_its_pattern_takes() {
    for (pattern, any_case, path, groups) in [
        ("^/old/(.*)$", false, "/old/a%20b/c", &["a%20b/c"][..]),
        (
            "^/OLD/([^/]*)/(.)",
            true,
            "/old/a/%C3%A9",
            &["a", "%C3"][..],
        ),
        ("/(a|b)", false, "/x/b/a", &["b"][..]),
        ("^/(a)?b", false, "/b", &[""][..]),
        ("^/(x|(y))", false, "/y", &["y", "y"][..]),
        ("(a.)", true, "/%0Ab/ab", &["ab"][..]),
    ] {
        let subject = match any_case {
            true => Subject::InPathInAnyCase,
            false => Subject::InPath,
        };
        let written = re2_first(pattern, subject, false);
        let whole = regex(&written, false);
        let found = whole.captures(path.as_bytes()).unwrap();
        let texts: Vec<_> = found
            .iter()
            .skip(1)
            .map(|group| group.map_or(&b""[..], |group| group.as_bytes()))
            .collect();
        let expected: Vec<_> = groups.iter().map(|group| group.as_bytes()).collect();
        assert_eq!(texts, expected, "{pattern}: {written}");
    }
}

#[test]
fn no_pattern_is_written_for_what_re2_has_no_words_for() {
    for (part, pattern) in [
        (TargetPart::Path, r"\bx"),
        (TargetPart::Query, "a(^b)?c"),
        (TargetPart::Argument("a"), "b^"),
        (TargetPart::Path, r"[^a]{900}"),
    ] {
        assert_eq!(re2_target(part, pattern, false), None, "{pattern}");
    }
}
