//! Paths with lookaround and possessive repetition, in every data plane: what they take and what their groups hold is what an
//! engine says that knows both.

use anyhow::{Result, ensure};
use fancy_regex::Regex;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;

use crate::fixture::{Fixture, HOST};

pub(crate) const PATTERNS: &[&str] = &[
    "/(?!api)(.*)/b",
    "/(?!.*b)(.*)",
    "/(?=.*b)(?!api)(.*)",
    "/(?![a-m])(.+)",
    "/[^/]+/(?!api)(.*)",
    "/([a-z]{2,3})/(?!b|c)",
    "/((?!api|b).)*$",
    "/a((?!b)[^/])*$",
    r"/(.*)(?<!\.js)$",
    r"/(.+(?<!\.css|\.js))$",
    r"/(.*)(?<=\.js)$",
    r"/(?!api)(.*)(?<!\.js)$",
    "/([^/]++)/(.*)",
    "/(?>api|b)/(.*)",
    "/([a-z]*+)$",
    "/(?!a)",
    "/(?<first>[a-z]+)/(?P<second>b)",
    "/a(?i)(B|c)(?s).*",
    r"/(\x61[\x62\x2e]?)\z",
    r"/(?<n>[^/]+)(?<!\.js)\z",
];

/// Patterns that RE2 has no other words for.
pub(crate) const BACKTRACKING: &[&str] = &[
    r"/([a-z]+)/\1",
    r"/(?<n>[\x61-z]+)(?s)./\1",
    r"/(.)(?:\1|/b).*",
    "/a?(?!b)(.*)",
    "/(?:a|(?!api)b)/(.*)",
    "/(a|ab)(?=/|c)(.*)",
    "/(?:(?!b).)*/(.*)$",
    r"/(.+)(?<!p|i)/(?=.*b)(.*)",
    "/(a|ab)++(.*)",
    "/(?>a|ab)/(.*)",
    "/(?!a)(.*)x|b/(c)",
    "/(?!(?-i:API))([a-z]+)/",
];

pub(crate) const PATHS: &[&str] = &[
    "/",
    "/a",
    "/api",
    "/API/x",
    "/ab",
    "/a/b",
    "/b",
    "/b/a",
    "/ab/api",
    "/ab/apx",
    "/ab/c",
    "/abc/d",
    "/x/y/b",
    "/x.js",
    "/x.JS",
    "/a/x.css",
    "/api/x.js",
    "/xjs",
    "/a.b/api",
    "/zz",
    "/zz/b/c",
    "/a-c",
    "/aab",
    "/api/b",
];

/// Encoded, and what is compared.
const ENCODED: &[(&str, &str)] = &[
    ("/%61pi/x", "/api/x"),
    ("/a%2fb", "/a/b"),
    ("/x%2Ejs", "/x.js"),
    ("/a/../%41pi/b", "/Api/b"),
];

/// Paths where a guarded path says what it does not guard; `true`: it is guarded.
const GUARDED: &[(&str, bool)] = &[
    ("/a.html", true),
    ("/a%2ehtml", true),
    ("/a.html?/public.html", true),
    ("/x/../a.html", true),
    ("/public.html", false),
    ("/%70ublic.html", false),
    ("/public.html?/a.html", false),
    ("/PUBLIC/a.html", false),
    ("/private/%2e%2e/public/a.html", false),
    ("/public/%2e%2e/a.html", true),
    ("/a", false),
];

pub(crate) async fn is_as_in_pcre(data_plane: &str, arguments: &[&str]) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let patterns: Vec<&str> = PATTERNS.iter().chain(BACKTRACKING).copied().collect();
    for (n, pattern) in patterns.iter().enumerate() {
        let ingress = Ingress::new("default", &format!("p{n}"))
            .annotation("use-regex", "true")
            .annotation("rewrite-target", "/_$1")
            .host(&format!("p{n}.test"));
        let ingress = ingress.typed_path("ImplementationSpecific", pattern, "web", 80);
        fixture.manifests.ingress(&ingress)?;
    }
    guard(&fixture)?;
    let arguments = arguments.iter().map(|text| (*text).to_owned()).collect();
    let options = Options::new(&fixture.manifests).data_plane(data_plane);
    let sluice = options.arguments(arguments).start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let mut different = Vec::new();
    for (n, pattern) in patterns.iter().enumerate() {
        let judge = Regex::new(&format!("(?i)^{pattern}"))?;
        let plain = PATHS.iter().map(|path| (*path, *path));
        for (path, compared) in plain.chain(ENCODED.iter().copied()) {
            let expected = judge.captures(compared)?.map(|found| {
                let group = found.get(1).map_or("", |group| group.as_str());
                format!("/_{group}")
            });
            for query in ["", "?b=/api.js"] {
                let answer = sluice
                    .get(&format!("p{n}.test"), &format!("{path}{query}"))
                    .await?;
                let seen = match answer.status {
                    404 => None,
                    _ => answer.json()?["path"].as_str().map(str::to_owned),
                };
                if seen != expected {
                    different.push(format!(
                        "{pattern}: {path}{query}: {seen:?}, expected {expected:?}"
                    ));
                }
            }
        }
    }
    ensure!(different.is_empty(), "{different:#?}");
    for (path, is_guarded) in GUARDED {
        let answer = sluice.get("guarded.test", path).await?;
        let expected = if *is_guarded { 403 } else { 200 };
        ensure!(answer.status == expected, "{path}: {answer:?}");
    }
    sluice.stop()
}

/// A path that nobody may ask for, and everything else of its host.
fn guard(fixture: &Fixture) -> Result<()> {
    let guarded = Ingress::new("default", "guarded")
        .annotation("use-regex", "true")
        .annotation("whitelist-source-range", "192.0.2.0/24")
        .host("guarded.test");
    let path = r"/(?!public)(.*)\.html$";
    fixture
        .manifests
        .ingress(&guarded.typed_path("ImplementationSpecific", path, "web", 80))?;
    let open = Ingress::new("default", "open").host("guarded.test");
    fixture.manifests.ingress(&open.path("/", "web", 80))
}
