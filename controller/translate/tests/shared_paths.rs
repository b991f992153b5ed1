//! Several namespaces on one host (R12 of the security rules): whatever paths and patterns they write, each request goes where
//! a few plain rules say. The rules are checked on what a router does that tries routes one after the other.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::select;
use regex_lite::Regex;
use serde_json::{Value, json};
use sluice_ir::{HttpRoute, PathMatch, Server, ServerName};
use sluice_translate::{Object, Options, Resources, translate};

const HOST: &str = "shared.example";
const NAMESPACES: [&str; 3] = ["owner", "second", "third"];
const LITERALS: [&str; 11] = [
    "/", "/a", "/A", "/a/", "/a/b", "/ab", "/a/b/c", "/b", "/b/c", "/c", "/a/b/",
];
/// With the length of what they begin with.
const PATTERNS: [(&str, usize); 11] = [
    ("/.*", 1),
    ("/a.*", 2),
    ("/a/(.*)", 3),
    ("/.{0,1}.{0,1}.*", 1),
    ("/[ab]/c", 1),
    ("/a|/b", 0),
    ("/(a|b)", 1),
    ("/a(/|$)(.*)", 2),
    ("/.*b", 1),
    ("/a/b?.*c", 3),
    ("/b/[a-z]+", 3),
];

/// One Ingress.
#[derive(Clone, Debug)]
struct Written {
    namespace: usize,
    use_regex: bool,
    paths: Vec<(&'static str, bool)>,
}

fn some_ingress() -> impl Strategy<Value = Written> {
    let literal = (select(&LITERALS[..]), any::<bool>()).boxed();
    let pattern = (
        select(&PATTERNS[..]).prop_map(|(pattern, _)| pattern),
        Just(false),
    )
        .boxed();
    (0..NAMESPACES.len(), any::<bool>()).prop_flat_map(move |(namespace, use_regex)| {
        let path = if use_regex {
            prop_oneof![literal.clone(), pattern.clone()].boxed()
        } else {
            literal.clone()
        };
        let paths = prop::collection::vec(path, 1..5);
        paths.prop_map(move |paths| Written {
            namespace,
            use_regex,
            paths,
        })
    })
}

/// The later in the list, the newer. Each path leads to a Service that is called after it.
fn server(written: &[(usize, &Written)]) -> Server {
    let mut resources = Resources::default();
    for (number, ingress) in written {
        let path = |(path, is_exact): &(&str, bool)| {
            let kind = if *is_exact {
                "Exact"
            } else {
                "ImplementationSpecific"
            };
            let service = json!({"name": service(path, *is_exact), "port": {"number": 80}});
            json!({"path": path, "pathType": kind, "backend": {"service": service}})
        };
        let paths: Vec<Value> = ingress.paths.iter().map(path).collect();
        let regex = if ingress.use_regex { "true" } else { "false" };
        let object = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {
                "name": number.to_string(), "namespace": NAMESPACES[ingress.namespace],
                "creationTimestamp": format!("2026-01-01T00:00:{number:02}Z"),
                "annotations": {"nginx.ingress.kubernetes.io/use-regex": regex},
            },
            "spec": {"ingressClassName": "nginx", "rules": [{"host": HOST, "http": {"paths": paths}}]},
        });
        resources.apply(Object::from_value(object).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    let name = ServerName::parse(HOST).unwrap();
    translation
        .config()
        .servers
        .get(&name)
        .map(|server| Server::clone(server))
        .unwrap_or_default()
}

/// A name that says which path leads there.
fn service(path: &str, is_exact: bool) -> String {
    let pattern = PATTERNS.iter().position(|(pattern, _)| *pattern == path);
    let literal = LITERALS
        .iter()
        .position(|literal| *literal == path)
        .unwrap_or_default();
    match pattern {
        Some(number) => format!("pattern-{number}"),
        None => format!("{}-{literal}", if is_exact { "exact" } else { "prefix" }),
    }
}

/// A route: whose, and how long what all of its requests begin with is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    namespace: String,
    service: String,
    text: usize,
    /// In lower case.
    begins: String,
}

impl Path {
    /// `None` where somebody is led from a bare form to the one with a slash.
    fn of(route: &HttpRoute) -> Option<Path> {
        let backend = route.primary_backend()?;
        let mut parts = backend.as_str().split('/');
        let (namespace, service) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let (kind, number) = service.split_once('-')?;
        let number: usize = number.parse().ok()?;
        // A prefix with an exact twin has a slash more among patterns.
        let begins = match kind {
            "pattern" => &PATTERNS[number].0[..PATTERNS[number].1],
            _ => route.matches.path.text(),
        };
        Some(Path {
            namespace,
            service,
            text: begins.len(),
            begins: begins.to_ascii_lowercase(),
        })
    }

    fn age(&self, ages: &[&str]) -> usize {
        ages.iter()
            .position(|namespace| *namespace == self.namespace)
            .unwrap()
    }
}

fn takes(route: &HttpRoute, request: &str) -> bool {
    match &route.matches.path {
        PathMatch::Exact(path) => path == request,
        PathMatch::Prefix(path) => request
            .strip_prefix(path.as_str())
            .is_some_and(|rest| rest.is_empty() || path.ends_with('/') || rest.starts_with('/')),
        // nginx means the `^` of the first alternative only.
        PathMatch::Regex(regex) => Regex::new(&format!("(?i)^{}", regex.pattern))
            .unwrap()
            .is_match(request),
    }
}

fn found<'a>(server: &'a Server, request: &str) -> Vec<&'a HttpRoute> {
    server
        .routes
        .iter()
        .filter(|route| takes(route, request))
        .collect()
}

fn requests() -> Vec<String> {
    let words = ["a", "A", "b", "ab", "c", "x"];
    let one = words
        .iter()
        .flat_map(|word| [format!("/{word}"), format!("/{word}/")]);
    let more = words
        .iter()
        .flat_map(|a| words.iter().map(move |b| format!("/{a}/{b}")));
    let most = ["/a/b/c", "/a/b/", "/a/b/c/x", "/b/c/x", "/b/abc", "/A/b/c"].map(str::to_owned);
    std::iter::once("/".to_owned())
        .chain(one)
        .chain(more)
        .chain(most)
        .collect()
}

/// True if a namespace alone tries longer texts first, so that no path of it waits for a shorter one. Only paths are compared
/// of which one's text begins the other's.
fn is_by_length(server: &Server) -> bool {
    let paths: Vec<Path> = server.routes.iter().filter_map(Path::of).collect();
    let is_before = |(place, path): (usize, &Path)| {
        let mut later = paths[place..].iter();
        later.all(|later| later.text <= path.text || !later.begins.starts_with(&path.begins))
    };
    paths.iter().enumerate().all(is_before)
}

/// True if a namespace has a path that another one has as well: the older Ingress gets that, and the rest of the newer one may
/// be without patterns.
fn shares_a_path(namespace: &str, written: &[Written]) -> bool {
    let paths = |own: bool| {
        let of = written
            .iter()
            .filter(move |other| (NAMESPACES[other.namespace] == namespace) == own);
        of.flat_map(|other| &other.paths).collect::<BTreeSet<_>>()
    };
    !paths(true).is_disjoint(&paths(false))
}

fn check(written: &[Written]) -> Result<(), TestCaseError> {
    let numbered: Vec<(usize, &Written)> = written.iter().enumerate().collect();
    let mut ages: Vec<&str> = Vec::new();
    for (_, ingress) in &numbered {
        let namespace = NAMESPACES[ingress.namespace];
        if !ages.contains(&namespace) {
            ages.push(namespace);
        }
    }
    let alone = |namespace: &&'static str| {
        let is_own = |(_, it): &&(usize, &Written)| NAMESPACES[it.namespace] == *namespace;
        let own = numbered.iter().filter(is_own).copied();
        (*namespace, server(&own.collect::<Vec<_>>()))
    };
    let alone: BTreeMap<&str, Server> = NAMESPACES.iter().map(alone).collect();
    let all = server(&numbered);
    let by_length = alone.values().all(is_by_length);
    for request in requests() {
        let found = found(&all, &request);
        let Some(winner) = found.first() else {
            // Nobody is kept from what nobody else takes, but for the same path twice.
            let alone = alone
                .values()
                .flat_map(|server| self::found(server, &request))
                .filter_map(Path::of);
            let kept: Vec<Path> = alone
                .filter(|path| !shares_a_path(&path.namespace, written))
                .collect();
            prop_assert_eq!(kept, [], "{}", request);
            continue;
        };
        let Some(winner) = Path::of(winner) else {
            continue;
        };
        // Within its namespace it is the one that would be taken without all others.
        let own = self::found(&alone[winner.namespace.as_str()], &request);
        let own = own.into_iter().filter_map(Path::of).next();
        let is_lost = shares_a_path(&winner.namespace, written);
        prop_assert!(
            is_lost || own.as_ref() == Some(&winner),
            "{request}: {winner:?} and not {own:?}"
        );
        for other in found.iter().filter_map(|route| Path::of(route)) {
            let is_older = other.age(&ages) < winner.age(&ages);
            // No older namespace has anything as long.
            prop_assert!(
                !is_older || other.text < winner.text,
                "{request}: {winner:?} and not {other:?}"
            );
            // And a longer one is always taken, where no namespace's own order stands against that.
            let is_next = (other.text, !is_older) <= (winner.text, true)
                || other.namespace == winner.namespace;
            prop_assert!(
                !by_length || is_next,
                "{request}: {winner:?} and not {other:?}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn a_newer_namespace_takes_only_what_no_path_of_an_older_one_takes_that_is_as_long(
        written in prop::collection::vec(some_ingress(), 1..7)
    ) {
        check(&written)?;
    }
}

fn written(namespace: usize, use_regex: bool, paths: &[(&'static str, bool)]) -> Written {
    Written {
        namespace,
        use_regex,
        paths: paths.to_vec(),
    }
}

/// Namespace whose path takes a request.
fn taken(world: &[Written], request: &str) -> String {
    let server = server(&world.iter().enumerate().collect::<Vec<_>>());
    let first = found(&server, request).first().copied().cloned();
    first
        .and_then(|route| Path::of(&route))
        .map_or_else(|| "-".to_owned(), |path| path.namespace)
}

#[test]
fn a_foreign_pattern_takes_nothing_that_the_owner_has_written() {
    for pattern in ["/.{0,1}.{0,1}.*", "/.*", "/a|/b"] {
        let world = [
            written(0, false, &[("/a", true), ("/a/b", false), ("/b", false)]),
            written(1, true, &[(pattern, false), ("/c", false)]),
        ];
        for (request, namespace) in [
            ("/a", "owner"),
            ("/a/b/x", "owner"),
            ("/b/c", "owner"),
            ("/c", "second"),
        ] {
            assert_eq!(taken(&world, request), namespace, "{pattern}: {request}");
        }
        // Exact is still exact, and the owner's letters have one case only.
        let other = if pattern == "/a|/b" { "-" } else { "second" };
        assert_eq!(taken(&world, "/x"), other, "{pattern}");
    }
}

#[test]
fn a_foreign_path_below_the_owners_root_is_the_foreign_ones() {
    let foreign = |use_regex| written(1, use_regex, &[("/a", false)]);
    for (owner, foreign) in [
        (written(0, false, &[("/", false)]), foreign(false)),
        (written(0, false, &[("/", false)]), foreign(true)),
        (written(0, true, &[("/.*", false)]), foreign(false)),
        (
            written(0, true, &[("/.*", false), ("/", false)]),
            foreign(true),
        ),
        // The owner tries the first of its paths before the second, and so before the foreign one.
        (
            written(0, true, &[("/.{0,1}.{0,1}.*", false), ("/", false)]),
            written(1, true, &[("/a/(.*)", false), ("/a", false)]),
        ),
    ] {
        let world = [owner, foreign];
        assert_eq!(taken(&world, "/a"), "second", "{world:?}");
        assert_eq!(taken(&world, "/b"), "owner", "{world:?}");
    }
}
