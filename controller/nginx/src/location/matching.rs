//! Path matching, in nginx's words.
//!
//! nginx does not try locations one after the other: it takes the exact path, else it looks for the longest prefix, and if that
//! one does not say otherwise (`^~`), takes the first pattern. So on a host that has both patterns and other paths, what is
//! behind a pattern that may take the same becomes a pattern as well, and what is before all of those says `^~`: the order is
//! that of the IR.
//!
//! A path that ends with a slash leads nginx to it from the path without the slash, whatever patterns there are. So a prefix is a
//! pattern, too, where one may take that path, and an exact path wherever that path has no location of its own.

use std::collections::BTreeSet;
use std::ops::Bound;

use sluice_ir::{PathMatch, PathRegex, RegexScope, Server};
use sluice_pattern::Subject;

/// Pattern of a location. nginx answers 500 where PCRE gives up, and tries no other location.
pub(crate) fn pattern(regex: &PathRegex) -> String {
    let subject = match regex.scope {
        RegexScope::Beginning if !regex.conditions.is_empty() => {
            let conditions = regex.conditions.iter();
            let conditions =
                conditions.map(|condition| (condition.pattern.as_str(), condition.is_negative));
            return sluice_pattern::pcre_under_conditions(conditions, &regex.pattern);
        }
        RegexScope::Beginning => Subject::Path,
        RegexScope::Anywhere => Subject::InPath,
        RegexScope::AnywhereInAnyCase => Subject::InPathInAnyCase,
    };
    sluice_pattern::pcre(&regex.pattern, subject, regex.alternatives)
}

/// Bytes of a name in nginx's tree of locations, which has the length of each in one byte.
const LONGEST_NAME: usize = 255;

/// True if it can be a name in the tree, also with a slash behind it. Otherwise it is a pattern.
fn fits_tree(path: &str) -> bool {
    path.len() < LONGEST_NAME
}

/// True if nginx would lead requests for the path without the slash here.
fn leads_here(path: &str, exact: &BTreeSet<&str>) -> bool {
    let bare = path.strip_suffix('/').filter(|bare| !bare.is_empty());
    bare.is_some_and(|bare| !exact.contains(bare))
}

/// nginx's sign for the kind of match, with a blank after it, and what is matched.
type Match = (&'static str, String);

/// Paths of one host, one after the other.
#[derive(Default)]
pub(crate) struct Matching<'a> {
    /// Exact paths, which may be those without the slash of others.
    exact: BTreeSet<&'a str>,
    patterns: Beginnings,
    /// Of what has become a pattern so far.
    before: Beginnings,
}

impl<'a> Matching<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        let mut patterns = Beginnings::default();
        let paths = || server.routes.iter().map(|route| &route.matches.path);
        let exact = paths().filter_map(|path| match path {
            PathMatch::Exact(text) => Some(text.as_str()),
            PathMatch::Prefix(_) | PathMatch::Regex(_) => None,
        });
        let exact = exact.collect();
        for path in paths() {
            match path {
                PathMatch::Regex(regex) => {
                    patterns.add(&sluice_pattern::literal_prefix(regex.anchored()));
                }
                PathMatch::Exact(text) | PathMatch::Prefix(text) if !fits_tree(text) => {
                    patterns.add(text);
                }
                PathMatch::Exact(text) if leads_here(text, &exact) => patterns.add(text),
                PathMatch::Exact(_) | PathMatch::Prefix(_) => {}
            }
        }
        Matching {
            exact,
            patterns,
            before: Beginnings::default(),
        }
    }

    /// The matches that nginx needs for the next path; which paths it takes is the first's and the others' together.
    pub(crate) fn next(&mut self, path: &PathMatch) -> Vec<Match> {
        let text = match path {
            PathMatch::Regex(regex) => {
                self.before
                    .add(&sluice_pattern::literal_prefix(regex.anchored()));
                let sign = match regex.scope {
                    RegexScope::Anywhere => "~ ",
                    RegexScope::Beginning | RegexScope::AnywhereInAnyCase => "~* ",
                };
                return vec![(sign, pattern(regex))];
            }
            PathMatch::Exact(text) | PathMatch::Prefix(text) => text,
        };
        let is_exact = matches!(path, PathMatch::Exact(_));
        let bare = text
            .strip_suffix('/')
            .filter(|bare| !is_exact && !bare.is_empty());
        let is_pattern = !fits_tree(text)
            || self.before.may_share(text)
            || is_exact && leads_here(text, &self.exact);
        if is_pattern || bare.is_some_and(|bare| self.patterns.may_share(bare)) {
            self.before.add(text);
            let end = match (is_exact, text.ends_with('/')) {
                (true, _) => r"\z",
                (false, true) => "",
                (false, false) => r"(?:/|\z)",
            };
            return vec![("~ ", format!("^{}{end}", sluice_pattern::escape(text)))];
        }
        let below = if self.patterns.are_there() { "^~ " } else { "" };
        match path {
            PathMatch::Prefix(text) if text.ends_with('/') => vec![(below, text.clone())],
            PathMatch::Prefix(text) => vec![("= ", text.clone()), (below, format!("{text}/"))],
            _ => vec![("= ", text.clone())],
        }
    }
}

/// Literal prefixes of patterns, in lower case: patterns take either.
#[derive(Default)]
struct Beginnings(BTreeSet<Vec<u8>>);

impl Beginnings {
    fn add(&mut self, beginning: &str) {
        self.0.insert(beginning.to_ascii_lowercase().into_bytes());
    }

    fn are_there(&self) -> bool {
        !self.0.is_empty()
    }

    /// True if one of them may take what this path takes: the text of one begins the other's.
    fn may_share(&self, path: &str) -> bool {
        let text = path.to_ascii_lowercase().into_bytes();
        let next = self
            .0
            .range::<[u8], _>((Bound::Included(text.as_slice()), Bound::Unbounded))
            .next();
        if next.is_some_and(|beginning| beginning.starts_with(&text)) {
            return true;
        }
        // The last one that is not after the text either begins it, or what begins it is no longer than what they share.
        let mut end = text.as_slice();
        loop {
            let before = self
                .0
                .range::<[u8], _>((Bound::Unbounded, Bound::Included(end)))
                .next_back();
            let Some(before) = before else { return false };
            if text.starts_with(before) {
                return true;
            }
            let shared = before.iter().zip(&text).take_while(|(a, b)| a == b).count();
            end = text.get(..shared).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_ir::{Action, HttpRoute, PathRegex, ServerName};

    use super::*;

    fn regex(pattern: &str) -> PathMatch {
        PathMatch::Regex(PathRegex::plain(pattern.to_owned()))
    }

    fn exact(path: &str) -> PathMatch {
        PathMatch::Exact(path.to_owned())
    }

    fn prefix(path: &str) -> PathMatch {
        PathMatch::Prefix(path.to_owned())
    }

    /// As nginx reads them, without what only PCRE reads.
    fn written(paths: &[PathMatch]) -> Vec<String> {
        let route = |path: &PathMatch| {
            HttpRoute::new(
                &ServerName::CatchAll,
                path.clone(),
                Action::Denied,
                Arc::default(),
            )
        };
        let routes = paths.iter().map(route).collect();
        let server = Server {
            routes,
            ..Server::default()
        };
        let mut matching = Matching::new(&server);
        let matches = paths.iter().flat_map(|path| matching.next(path));
        matches
            .filter(|(sign, _)| *sign != "~* ")
            .map(|(sign, path)| format!("{sign}{path}"))
            .collect()
    }

    #[test]
    fn a_prefix_takes_whole_segments() {
        assert_eq!(written(&[prefix("/")]), ["/"]);
        assert_eq!(written(&[prefix("/foo")]), ["= /foo", "/foo/"]);
    }

    #[test]
    fn an_exact_path_takes_nothing_else() {
        assert_eq!(written(&[exact("/a/")]), [r"~ ^/a/\z"]);
        // What is found first is not led elsewhere.
        assert_eq!(written(&[exact("/a"), exact("/a/")]), ["= /a", "= /a/"]);
        assert_eq!(written(&[exact("/")]), ["= /"]);
        // It stays before what takes it as well.
        assert_eq!(
            written(&[exact("/a/"), prefix("/a")]),
            [r"~ ^/a/\z", r"~ ^/a(?:/|\z)"]
        );
    }

    #[test]
    fn what_no_pattern_before_it_may_take_is_found_first() {
        let paths = [
            exact("/a"),
            prefix("/b"),
            regex("/zz/.*"),
            prefix("/c/"),
            exact("/zy"),
        ];
        assert_eq!(
            written(&paths),
            ["= /a", "= /b", "^~ /b/", "^~ /c/", "= /zy"]
        );
    }

    #[test]
    fn what_a_pattern_before_it_may_take_as_well_is_tried_after_it() {
        let paths = [
            regex("/Zz/.*"),
            prefix("/zz"),
            exact("/zz/a.b"),
            prefix("/zz/c/"),
            prefix("/"),
        ];
        let patterns = [r"~ ^/zz(?:/|\z)", r"~ ^/zz/a\.b\z", "~ ^/zz/c/", "~ ^/"];
        assert_eq!(written(&paths), patterns);
        // From here nginx would lead to it from the path without the slash.
        assert_eq!(written(&[prefix("/a/"), regex("/A.*")]), ["~ ^/a/"]);
        // What is shorter than a path that became one does so, too.
        assert_eq!(
            written(&[prefix("/a/b/"), exact("/a"), regex("/a/b")]),
            ["~ ^/a/b/", r"~ ^/a\z"]
        );
        // Alternatives may take anything.
        assert_eq!(written(&[regex("/x|/y"), exact("/a")]), [r"~ ^/a\z"]);
    }
}
