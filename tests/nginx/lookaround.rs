//! Lookaround, possessive repetition and other words for the same take the same paths, and capture the same of them, as a real nginx does with
//! the words of their owner.

use anyhow::{Result, ensure};
use sluice_pattern::{
    Subject, check, in_common_words, pcre, pcre_under_conditions, without_lookaround,
    without_possessives,
};
use sluice_tests::http::{self, Request};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::Port;

use crate::scenarios::lookaround::{PATHS, PATTERNS};

const HEADS: &[&str] = &[
    "/",
    "/a",
    "/(api|abc)",
    "/a*",
    "/[^/]*/",
    "/(.)",
    "/(",
    "/(?:a|b/",
    "/([a-z]+)/(",
    "/a?b",
    "/.*",
    "/[^/]++/",
];
const LOOKS: &[&str] = &[
    "(?!a)",
    "(?!.*b)",
    "(?=.*/)",
    "(?!(a)|b$)",
    "(?!a?)",
    r"(?<!\.js)",
    "(?<!b|api)",
    "(?<=b)",
    r"(?!\W)",
];
const TAILS: &[&str] = &[
    "", ".*", "(.*)", "b", "$", "(a|b)*$", ".)*$", ".)+$", "[^b])*$", ".*)", ")$", "/?)*", ")?b",
];

/// Parts that are written in common words.
const WORDS: &[&str] = &[
    "(?<n>a)",
    "(?P<n>[a-z])(?<m>b)?",
    "a(?i)b|",
    "(a(?i)B|c)",
    "(?s)",
    "(?s:.)",
    "(?is)A.",
    r"\x61",
    r"[\x61-\x63\x5d]",
    r"\Q.j\Es",
    r"\Qa/",
    r"(\Aa|b)",
    r"(a|b\z|c\Z)",
    r"(a|\.js\z)",
    r"\z",
    r"\Z",
    r"(?<n>a)(?!b)",
];

/// A pattern as its owner wrote it, and as nginx gets it from us; `None`: it is not served.
fn both(pattern: &str) -> Option<[String; 2]> {
    let common = in_common_words(pattern);
    let plain = without_possessives(&common);
    let written = match check(&plain, Subject::Path) {
        Ok(shape) => pcre(&plain, Subject::Path, shape.alternatives),
        Err(_) => {
            let found = without_lookaround(&plain)?;
            let conditions = found.conditions.iter();
            let conditions =
                conditions.map(|condition| (condition.pattern.as_str(), condition.is_negative));
            pcre_under_conditions(conditions, &found.pattern)
        }
    };
    Some([format!("(?i)^{pattern}"), written])
}

fn patterns() -> Vec<[String; 2]> {
    let generated = HEADS.iter().flat_map(|head| {
        LOOKS
            .iter()
            .flat_map(move |look| TAILS.iter().map(move |tail| format!("{head}{look}{tail}")))
    });
    let words = ["/", "/a/", "/.*", "/(b|a/)?"].iter().flat_map(|head| {
        WORDS.iter().flat_map(move |word| {
            let tails = ["", ".*", "(.*)", "b", "$", ")?b", "+"].iter();
            tails.map(move |tail| format!("{head}{word}{tail}"))
        })
    });
    let written = PATTERNS.iter().map(|pattern| (*pattern).to_owned());
    // What has groups that are not closed is no pattern, and not served.
    written
        .chain(generated)
        .chain(words)
        .filter_map(|pattern| both(&pattern))
        .collect()
}

#[tokio::test]
async fn other_words_take_what_nginx_takes() -> Result<()> {
    let (port, patterns) = (Port::reserve()?, patterns());
    ensure!(patterns.len() > 200, "{}", patterns.len());
    let locations = patterns.iter().enumerate().map(|(n, both)| {
        let location = |(kind, pattern): (usize, &String)| {
            let pattern = pattern.replace('\\', r"\\");
            format!(
                "server {{ listen {}; server_name p{n}-{kind}.test;\n\
                 location / {{ return 404; }}\nlocation ~ \"{pattern}\" {{ return 200 \"$1,$2\"; }} }}\n",
                port.addr()
            )
        };
        both.iter().enumerate().map(location).collect::<String>()
    });
    let http = format!(
        "server_names_hash_max_size 8192;\n{}",
        locations.collect::<String>()
    );
    let nginx = Nginx::start(Conf::write("worker_processes 1;", &http)?).await?;
    let mut different = Vec::new();
    for (n, both) in patterns.iter().enumerate() {
        for path in PATHS
            .iter()
            .chain(&["/a%0a", "/x.js%0a", "/%0ab", "/b%0a", "/a%0ab"])
        {
            let mut seen = Vec::new();
            for kind in 0..2 {
                let request = Request::get(&format!("p{n}-{kind}.test"), path);
                let answer = http::send(port.addr(), &request).await?;
                let is_taken = answer.status == 200;
                seen.push(is_taken.then(|| String::from_utf8_lossy(&answer.body).into_owned()));
            }
            if seen[0] != seen[1] {
                different.push(format!("{both:?}: {path}: {seen:?}"));
            }
        }
    }
    ensure!(different.is_empty(), "{} {different:#?}", different.len());
    nginx.stop()
}
