//! Patterns of paths that an Envoy of our own cannot compare, because RE2 does not have them: the filter does, before the route is
//! looked for.
//!
//! ```text
//!   route sluice.patterns\n/a(?!b)\n/(.)\\1 --> sluice.lookup --> x-sluice-pattern: TAG /(.)\1   the first one that matches
//!                                                                 TAG -         none does
//!                                                                 TAG !/(.)\1   it is not known: there were no steps left
//! ```
//!
//! The tag is that of the list. Where the list is another one by the time that a route is looked for again, the request is none
//! that the filter has seen.

use std::collections::BTreeMap;

use md5::{Digest, Md5};
use sluice_filter_config::MOST_MATCHING;
pub use sluice_filter_config::host_contract::MOST_GROUPS;
use sluice_filter_config::host_contract::PATTERNS_ROUTE;

use crate::pattern::STEP_COST;
use crate::{BacktrackingShape, Captures, Exhausted, Pattern, Refusal};

/// Steps of one pattern for one path: about as many as PCRE has in nginx.
pub const MOST_STEPS: usize = MATCHING / STEP_COST;
const MATCHING: usize = MOST_MATCHING / 8;
/// Patterns that one namespace may have on a host.
pub const MOST_OF_NAMESPACE: usize = 16;
/// All patterns of a host together: one namespace does not use up what others need.
const MATCHING_OF_HOST: usize = 2 * MOST_OF_NAMESPACE * MATCHING;
/// Lists that are kept compiled.
const MOST_LISTS: usize = 256;

/// Compiles a pattern as nginx writes it: `^` belongs to the first alternative only.
fn compile(pattern: &str) -> Result<Pattern, Refusal> {
    Pattern::backtracking(&anchored(pattern), true)
}

fn anchored(pattern: &str) -> String {
    format!("^{pattern}")
}

/// Facts about a pattern. What is refused must not be in a list.
pub fn shape(pattern: &str) -> Result<BacktrackingShape, Refusal> {
    BacktrackingShape::of(&anchored(pattern), true)
}

/// Compares one path with one pattern, as the filter does.
pub fn captures<'t>(pattern: &str, path: &'t [u8]) -> Result<Option<Captures<'t>>, Exhausted> {
    let pattern = compile(pattern).map_err(|_| Exhausted)?;
    pattern.captures(path, &mut { MATCHING })
}

/// Name of the route of a host with these patterns.
#[must_use]
pub fn route_name<'p>(patterns: impl Iterator<Item = &'p str>) -> String {
    let lines = patterns.flat_map(|pattern| ["\n", pattern]);
    [PATTERNS_ROUTE].into_iter().chain(lines).collect()
}

/// The patterns of the name of a route; `None`: it is that of another one.
fn patterns(route: &str) -> Option<impl Iterator<Item = &str>> {
    let lines = route.strip_prefix(PATTERNS_ROUTE)?;
    Some(lines.strip_prefix('\n')?.split('\n'))
}

/// True if the filter compares patterns before the route of a request is known.
#[must_use]
pub fn is_patterns_route(route: &str) -> bool {
    patterns(route).is_some()
}

/// Beginning of what the filter says of the patterns of a route, with the blank behind it. It tells lists apart, and guards nothing.
#[must_use]
pub fn tag(route: &str) -> String {
    format!("{:x} ", Md5::digest(route))
}

/// End of what the filter says, with the blank before it, where this is the first pattern that matches. Patterns begin with a slash.
#[must_use]
pub fn matched(pattern: &str) -> String {
    format!(" {pattern}")
}

/// The same where there were no steps left to know it.
#[must_use]
pub fn exhausted(pattern: &str) -> String {
    format!(" !{pattern}")
}

/// The first pattern of a list that matches a path.
#[derive(Debug)]
pub struct FirstMatch<'t> {
    /// Value of the header.
    pub value: String,
    /// Its groups.
    pub captures: Option<Captures<'t>>,
}

/// Compiled lists, by the names of their routes.
#[derive(Debug, Default)]
pub struct PatternLists(BTreeMap<String, Vec<PathPattern>>);

#[derive(Debug)]
struct PathPattern {
    text: String,
    /// `None`: the engine does not know it. Translation puts none of these into a list ([`shape`]).
    compiled: Option<Pattern>,
}

impl PatternLists {
    /// Compares a path, without its query, with the patterns of a route. `None`: it is no route of patterns.
    pub fn first_match<'t>(&mut self, route: &str, path: &'t [u8]) -> Option<FirstMatch<'t>> {
        if !self.0.contains_key(route) {
            let list = patterns(route)?.map(PathPattern::new).collect();
            // Lists of hosts that are gone go at last, too.
            if self.0.len() >= MOST_LISTS {
                self.0.clear();
            }
            self.0.insert(route.to_owned(), list);
        }
        let mut budget = MATCHING_OF_HOST;
        let said = |end: &str| format!("{}{end}", tag(route).trim_end());
        for pattern in self.0.get(route)? {
            let mut left = MATCHING.min(budget);
            let before = left;
            let compared = pattern.compiled.as_ref();
            let compared = compared.map(|it| it.captures(path, &mut left));
            budget -= before - left;
            match compared {
                Some(Ok(None)) => {}
                Some(Ok(captures)) => {
                    let value = said(&matched(&pattern.text));
                    return Some(FirstMatch { value, captures });
                }
                Some(Err(_)) | None => {
                    return Some(FirstMatch {
                        value: said(&exhausted(&pattern.text)),
                        captures: None,
                    });
                }
            }
        }
        Some(FirstMatch {
            value: said(" -"),
            captures: None,
        })
    }
}

impl PathPattern {
    fn new(text: &str) -> Self {
        PathPattern {
            text: text.to_owned(),
            compiled: compile(text).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(patterns: &[&str], path: &str) -> String {
        let route = route_name(patterns.iter().copied());
        let found = PatternLists::default().first_match(&route, path.as_bytes());
        let value = found.unwrap().value;
        value.strip_prefix(&tag(&route)).unwrap().to_owned()
    }

    #[test]
    fn the_first_pattern_that_matches_is_said() {
        let list = ["/(?!api)(.*)/b", r"/(.)\1", "/(?=c)|/x"];
        for (path, expected) in [
            ("/a/b", "/(?!api)(.*)/b"),
            ("/API/b", "-"),
            ("/aa/b", "/(?!api)(.*)/b"),
            ("/Aa", r"/(.)\1"),
            ("/a/x", "/(?=c)|/x"),
            ("/", "-"),
        ] {
            assert_eq!(said(&list, path), expected, "{path}");
        }
    }

    #[test]
    fn without_steps_nothing_behind_the_pattern_is_said() {
        let list = ["/(?!x)y", "/(?=(a+)+$)b", r"/(.)\1"];
        let path = format!("/{}!", "a".repeat(60));
        assert_eq!(said(&list, &path), "!/(?=(a+)+$)b");
        assert_eq!(said(&["/(?=no"], "/"), "!/(?=no");
    }

    /// Each near its own end, and together beyond that of the host.
    #[test]
    fn patterns_of_a_host_have_an_end_together() {
        let path = format!("/{}!", "a".repeat(11));
        let list: Vec<String> = (0..200).map(|n| format!("/(?=(a+)+{n}$)b")).collect();
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let few = list.get(..MOST_OF_NAMESPACE).unwrap();
        assert_eq!(said(few, &path), "-");
        assert!(said(&list, &path).starts_with('!'));
    }

    #[test]
    fn what_has_a_shape_compiles() {
        let letters = "a".repeat(1000);
        for length in 980..=1000 {
            let pattern = format!("/(?!x){}", &letters[..length - 6]);
            assert_eq!(
                shape(&pattern).is_ok(),
                compile(&pattern).is_ok(),
                "{length}"
            );
        }
        let sets: String = ('a'..='z')
            .map(|letter| format!("({letter}|{letter}x)"))
            .collect();
        for count in 1..40 {
            let pattern = format!("/(?!x).*(?!z)({sets}){{{count}}}");
            assert_eq!(
                shape(&pattern).is_ok(),
                compile(&pattern).is_ok(),
                "{count}"
            );
        }
    }

    #[test]
    fn lists_are_told_apart() {
        let route = |patterns: &[&str]| route_name(patterns.iter().copied());
        let (one, other) = (route(&["/a", "/b"]), route(&["/a"]));
        assert_ne!(tag(&one), tag(&other));
        assert!(is_patterns_route(&one));
        for other in ["sluice.patterns", "sluice.encoded", "shop.example/", ""] {
            assert!(!is_patterns_route(other), "{other}");
            assert!(PatternLists::default().first_match(other, b"/").is_none());
        }
    }

    #[test]
    fn groups_are_those_of_the_pattern_that_matches() {
        let route = route_name([r"/(?!b)(\w)/(.*)"].into_iter());
        let mut lists = PatternLists::default();
        let captures = lists
            .first_match(&route, b"/a/c")
            .unwrap()
            .captures
            .unwrap();
        assert_eq!(
            [captures.get(1), captures.get(2), captures.get(3)],
            [&b"a"[..], b"c", b""]
        );
    }
}
