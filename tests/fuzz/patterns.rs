//! Regular expressions of what RE2 and PCRE share, and of what only PCRE knows, up to and beyond what may be written.

use proptest::prelude::*;
use proptest::sample::select;

const ATOMS: &[&str] = &[
    "a",
    "b",
    "k",
    "s",
    "K",
    "S",
    "0",
    "_",
    "-",
    "/",
    "api",
    "users",
    "~",
    "%",
    "!",
    ",",
    ";",
    "=",
    "@",
    "&",
    "'",
    r"\.",
    r"\/",
    r"\-",
    r"\+",
    r"\(",
    r"\{",
    r"\_",
    r"\~",
    ".",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    "[a-z]",
    "[^/]",
    "[^s]",
    "[^k-s]",
    r"[\w-]",
    r"[^\w.-]",
    "[A-Za-z0-9_-]",
    "[^a-z0-9]",
    "[[:alpha:]]",
    "[[:^digit:]]",
    "[]a]",
    "[^]a]",
    "[a-]",
    "[a.]",
    "[:a]",
    "[a:]",
    "[:a:]",
    "[.a.]",
    "[=a=]",
    r"[\]\[]",
    r"[\d\s]",
    "[+--]",
    "^",
    "$",
    r"\b",
    r"\B",
    "()",
    "(|a)",
    "(?:)",
    "",
    r"\1",
    r"\2",
    r"\z",
    "(?i)",
];

/// Groups of a backtracking engine.
const LOOKS: &[&str] = &["(?=", "(?!", "(?<=", "(?<!", "(?>"];

const COUNTS: &[&str] = &[
    "*", "+", "?", "*?", "+?", "??", "{0}", "{1}", "{2}", "{2,}", "{0,3}", "{3,7}?", "{10}",
    "{36}", "{0,50}", "{100}", "{100,}", "{500}", "{0,999}", "{1000}", "{1000,}", "{1,1000}", "*+",
    "++", "?+", "{2,3}+",
];

const WORDS: &[&str] = &[
    "users",
    "orders",
    "products",
    "carts",
    "payments",
    "shipments",
    "v1",
    "kiosk",
    "a",
    "health.json",
];

/// Any pattern, also one that is too large.
pub(crate) fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![4 => nested(), 1 => alternatives(), 1 => long(), 1 => many_groups()]
}

/// One that begins with a slash, as a path does.
pub(crate) fn path() -> impl Strategy<Value = String> {
    let end = select(&["", "(/|$)(.*)", "/(.*)", "$", "/?", "(.*)", "|/b"][..]);
    (pattern(), end).prop_map(|(pattern, end)| format!("/{pattern}{end}"))
}

fn nested() -> impl Strategy<Value = String> {
    let atom = prop_oneof![8 => select(ATOMS).prop_map(str::to_owned), 1 => text()];
    atom.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..8).prop_map(|parts| parts.concat()),
            1 => inner.clone().prop_map(|inner| format!("({inner})")),
            1 => inner.clone().prop_map(|inner| format!("(?:{inner})")),
            1 => inner.clone().prop_map(|inner| format!("(?i:{inner})")),
            1 => (select(LOOKS), inner.clone()).prop_map(|(look, inner)| format!("{look}{inner})")),
            1 => prop::collection::vec(inner.clone(), 2..5).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner.clone(), select(COUNTS)).prop_map(|(inner, count)| format!("(?:{inner}){count}")),
            1 => (inner, select(COUNTS)).prop_map(|(inner, count)| format!("{inner}{count}")),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    "[a-z0-9/._-]{1,40}"
}

/// Routes of an application in one pattern.
fn alternatives() -> impl Strategy<Value = String> {
    prop::collection::vec(select(WORDS), 1..120)
        .prop_map(|words| format!("api/({})/([0-9]+)(/|$)(.*)", words.join("|")))
}

/// Up to the last character that may be, and one more.
fn long() -> impl Strategy<Value = String> {
    let length = select(&[100usize, 500, 990, 998, 999, 1000][..]);
    (
        select(&["a", "s", ".", "a?", "(a)", "[^k]", r"\w+", "a|"][..]),
        length,
    )
        .prop_map(|(part, length)| part.repeat(length / part.len()))
}

fn many_groups() -> impl Strategy<Value = String> {
    select(&[9usize, 10, 254, 255, 256][..]).prop_map(|count| "()".repeat(count))
}
