//! Patterns in `proxy-redirect-from`, `proxy-cookie-domain` and `proxy-cookie-path`, in every data plane. The filter's engine in
//! this process says what is expected, so that nginx, which has PCRE, is compared with it.

use std::borrow::Cow;

use anyhow::{Result, ensure};
use sluice_filter_config::{HashKey, Replaced, ReplacedPattern, Rewriting, SubstitutionPart};
use sluice_filter_core::{
    Fact, Matching, Pattern, Request as Asked, Rewriting as Compiled, Rng, SplitMix64,
};
use sluice_pattern::{Subject, check};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};

/// Written by hand: with alternatives, repetitions, ends, boundaries, classes, and groups that take part or not.
const PATTERNS: &[&str] = &[
    "~^/user/(.+)",
    "~*^/USER/(.+)",
    "~/(a|ab)(c|bcd)(d*)",
    "~(a+)(b+)?$",
    "~(a*)(ab)*(b*)",
    "~(a*?)(b|$)",
    "~^(?:/([^/]*))*$",
    "~(a)|(b)|(/)",
    "~a|",
    "~",
    r"~\bab\b",
    r"~\Ba",
    r"~(\w+)\W(\w+)",
    r"~*([A-B]{2,3})",
    r"~([^\w/])",
    "~(?:(a)|b)*",
    "~(a|b)*",
    "~((a)|(b))+",
    "~(?i:A)b",
    r"~\.(js|css)$",
    "~^$",
    "~(.)(.)(.)$",
    "~[[:alpha:]]+/([[:punct:]])",
    r"~x\$",
    "~^/(?!a)(.+)",
    "~^(?:(?!/b).)*$",
    "~(?=(.)(.))",
    r"~(?<=/)(\w+)(?!.)",
    "~(?<!a|user)(/|b)(.*)",
    "~(?<=/(?!a))(.)",
    r"~(.)\1",
    r"~*([ab])(b?)\1",
    r"~(?:(a)|/\1|b)+(.*)",
    r"~^(?i)/(.)(?-i)(.*)\1",
    "~(a++)(b?)",
    "~(?>a|ab)(.*)",
    "~(?:(a|b)|(.))*+(.?)",
    "~(?>/(a|ab)|(.))c?(.*)",
    "~(?s:.)(?![[:alpha:]])([^/]|$)",
];
/// Generated ones.
const RANDOM: usize = 300;
const TO: &str = "/=$1,$2,$3";
const SUBJECTS: &[&str] = &[
    "/", "/user/me", "/User/Me", "/a", "/ab", "/abcd", "aab", "b", "/a/b", "/a/b/ab", "/ba.ab",
    "/a.js", "/A.B/ab", "abab", "bbb/aaa", "/x$", "a-b_c", "/ab./", "//",
];
const ATOMS: &[&str] = &[
    "a", "b", "/", ".", r"\.", "[ab]", "[^a]", r"\w", r"\W", "ab", "[a-b.]", "^", "$", r"\b",
];
/// How often something is there that is not there once.
const COUNTS: &[&str] = &[
    "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "*+", "?+",
];
/// Groups that need a backtracking engine.
const LOOKS: &[&str] = &["(?=", "(?!", "(?<=", "(?<!", "(?>"];

/// Data planes replace what the filter's engine replaces.
pub(crate) async fn patterns_replace_the_same(data_plane: &str, arguments: &[&str]) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let mut random = SplitMix64(17);
    let generated = (0..RANDOM).map(|_| format!("~{}", pattern(&mut random, 2)));
    let written = PATTERNS.iter().map(|pattern| (*pattern).to_owned());
    let patterns: Vec<String> = written.chain(generated).collect();
    for (n, pattern) in patterns.iter().enumerate() {
        let ingress = Ingress::new("default", &format!("p{n}"));
        let ingress = ingress.host(&format!("p{n}.test")).path("/", "web", 80);
        fixture
            .manifests
            .ingress(&ingress.annotation("proxy-cookie-path", &format!("{pattern} {TO}")))?;
    }
    let cookie = |subject: &&str| ("Set-Cookie".to_owned(), format!("a=1; Path={subject}"));
    let answer = Answer {
        headers: SUBJECTS.iter().map(cookie).collect(),
        ..Answer::default()
    };
    fixture.pods[0].script(Script::echo().answer("/go", answer));
    let arguments = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    let options = Options::new(&fixture.manifests)
        .data_plane(data_plane)
        .arguments(arguments);
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let mut different = Vec::new();
    for (n, pattern) in patterns.iter().enumerate() {
        let answer = http::send(sluice.http(), &Request::get(&format!("p{n}.test"), "/go")).await?;
        let seen: Vec<&str> = answer.headers("set-cookie").collect();
        for (seen, expected) in seen.iter().zip(expected(pattern)) {
            if *seen != expected {
                different.push(format!("{pattern}: {seen}, expected {expected}"));
            }
        }
        ensure!(seen.len() == SUBJECTS.len(), "{pattern}: {answer:?}");
    }
    ensure!(different.is_empty(), "{different:#?}");
    sluice.stop()
}

/// A pattern as people would not write it.
fn pattern(random: &mut SplitMix64, depth: usize) -> String {
    let (pieces, alternatives) = (1 + random.below(3), random.below(4) == 0);
    let mut text = String::new();
    for piece in 0..pieces {
        if alternatives && piece == 1 {
            text.push('|');
        }
        let (kind, atom, count) = (
            random.below(6),
            ATOMS[random.below(ATOMS.len())],
            COUNTS[random.below(COUNTS.len())],
        );
        let is_counted = random.below(2) == 0;
        let (group, is_repeatable) = match kind {
            0 if depth > 0 => (format!("({})", pattern(random, depth - 1)), true),
            1 if depth > 0 => (format!("(?:{})", pattern(random, depth - 1)), true),
            2 if depth > 0 => {
                let look = LOOKS[random.below(LOOKS.len())];
                (
                    format!("{look}{})", pattern(random, depth - 1)),
                    look == "(?>",
                )
            }
            3 if random.below(3) == 0 => (r"\1".to_owned(), true),
            _ => (atom.to_owned(), !matches!(atom, "^" | "$" | r"\b" | "ab")),
        };
        text.push_str(&group);
        if is_repeatable && is_counted {
            text.push_str(count);
        }
    }
    text
}

/// Cookies as clients see them.
fn expected(pattern: &str) -> Vec<String> {
    let text = pattern.trim_start_matches('~');
    let (any_case, text) = match text.strip_prefix('*') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let subject = match any_case {
        true => Subject::TextInAnyCase,
        false => Subject::Text,
    };
    let backtracking = check(text, subject).is_err();
    if backtracking && Pattern::backtracking(text, any_case).is_err() {
        let cookies = SUBJECTS.iter();
        return cookies
            .map(|subject| format!("a=1; Path={subject}"))
            .collect();
    }
    let plain = |text: &str| SubstitutionPart::Text(HashKey::parse(text).0);
    let group = SubstitutionPart::Group;
    let replaced = ReplacedPattern {
        pattern: text.to_owned(),
        any_case,
        backtracking,
        to: vec![
            plain("/="),
            group(1),
            plain(","),
            group(2),
            plain(","),
            group(3),
        ],
    };
    let rewrites = Compiled::from(&Rewriting {
        cookie_paths: Some(Replaced::Pattern(replaced)),
        ..Rewriting::default()
    })
    .compile(&Nothing);
    let mut matching = Matching::default();
    let mut cookie = |subject: &&str| {
        let cookie = format!("a=1; Path={subject}");
        let rewritten = rewrites.rewrite("set-cookie", cookie.as_bytes(), &mut matching);
        rewritten.map_or(cookie, |bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    SUBJECTS.iter().map(&mut cookie).collect()
}

/// Request that nothing is taken from.
struct Nothing;

impl Asked for Nothing {
    fn header(&self, _name: &str) -> Option<Cow<'_, [u8]>> {
        None
    }

    fn fact(&self, _fact: Fact) -> Option<Cow<'_, [u8]>> {
        None
    }
}
