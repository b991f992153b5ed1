//! Requests that a route takes.

use regex::bytes::{Captures, Regex};
use sluice_filter_core::path::{self, canonical};
use sluice_filter_core::path_patterns;
use sluice_ir::{PathMatch, PathRegex, RegexScope, RouteMatch, ValueMatch};
use sluice_pattern::{Subject, re2_condition, re2_first};

use crate::request::Request;

/// True if a route takes the request.
pub(crate) fn takes(matches: &RouteMatch, request: &Request) -> bool {
    let Some(path) = request.path.as_deref() else {
        return false;
    };
    let method = matches.method.as_ref();
    let mut headers = matches.headers.iter();
    let mut query = matches.query.iter();
    takes_path(&matches.path, path)
        && method.is_none_or(|method| **method == request.method)
        && headers.all(|header| has(request.header(header.name.as_str()), &header.value))
        && query.all(|argument| {
            has(
                request.argument(&argument.name).map(str::to_owned),
                &argument.value,
            )
        })
}

fn takes_path(matches: &PathMatch, path: &str) -> bool {
    match matches {
        PathMatch::Exact(exact) => path == written_decoded(exact),
        PathMatch::Prefix(prefix) => behind(&written_decoded(prefix), path).is_some(),
        PathMatch::Regex(regex) => {
            is_under_conditions(regex, path) && captures(regex, path).is_some()
        }
    }
}

/// Rest of a path behind whole segments.
pub(crate) fn behind<'p>(prefix: &str, path: &'p str) -> Option<&'p str> {
    let rest = path.strip_prefix(prefix)?;
    let is_whole = rest.is_empty() || rest.starts_with('/') || prefix.ends_with('/');
    is_whole.then_some(rest)
}

/// A path is compared decoded, so it is read so.
fn written_decoded(path: &str) -> String {
    let decoded = canonical(path.as_bytes())
        .ok()
        .and_then(|path| String::from_utf8(path.target).ok());
    decoded
        .filter(|_| path.contains('%'))
        .unwrap_or_else(|| path.to_owned())
}

fn is_under_conditions(regex: &PathRegex, path: &str) -> bool {
    regex.conditions.iter().all(|condition| {
        let pattern = re2_condition(&condition.pattern);
        let found = pattern.is_some_and(|pattern| is_whole(&pattern, path));
        found != condition.is_negative
    })
}

/// Groups of a pattern, from the first; empty where one takes no part.
#[derive(Debug)]
pub(crate) struct Groups(Vec<String>);

impl Groups {
    /// From 1.
    pub(crate) fn get(&self, group: u8) -> Option<&str> {
        let at = usize::from(group).checked_sub(1)?;
        self.0.get(at).map(String::as_str)
    }
}

impl From<Captures<'_>> for Groups {
    fn from(captures: Captures<'_>) -> Self {
        let groups = captures.iter().skip(1);
        let text = |found: &[u8]| String::from_utf8_lossy(found).into_owned();
        let texts = groups.map(|found| found.map(|found| text(found.as_bytes())));
        Groups(texts.map(Option::unwrap_or_default).collect())
    }
}

/// Groups of a pattern of a path.
pub(crate) fn captures(regex: &PathRegex, path: &str) -> Option<Groups> {
    if regex.backtracking {
        return backtracking_captures(regex, path);
    }
    let subject = match regex.scope {
        RegexScope::Beginning => Subject::Path,
        RegexScope::Anywhere => Subject::InPath,
        RegexScope::AnywhereInAnyCase => Subject::InPathInAnyCase,
    };
    let whole = whole(&re2_first(&regex.pattern, subject, regex.alternatives))?;
    whole.captures(path.as_bytes()).map(Groups::from)
}

fn backtracking_captures(regex: &PathRegex, path: &str) -> Option<Groups> {
    let path = path::meaning(path.as_bytes());
    let found = path_patterns::captures(&regex.pattern, &path).ok()??;
    let text = |group| String::from_utf8_lossy(&path::encoded(found.get(group))).into_owned();
    Some(Groups((1..=regex.groups).map(text).collect()))
}

/// True if a route has a pattern that takes too many steps for the path: data planes answer 500, and look for no other route.
pub(crate) fn is_exhausted(matches: &RouteMatch, request: &Request) -> bool {
    let (PathMatch::Regex(regex), Some(path)) = (&matches.path, &request.path) else {
        return false;
    };
    let path = path::meaning(path.as_bytes());
    regex.backtracking && path_patterns::captures(&regex.pattern, &path).is_err()
}

/// True if a pattern of RE2 matches all of a text.
pub(crate) fn is_whole(pattern: &str, text: &str) -> bool {
    whole(pattern).is_some_and(|pattern| pattern.is_match(text.as_bytes()))
}

/// Bytes, as RE2 and PCRE take a path; `None` cannot be: translation has read the pattern.
fn whole(pattern: &str) -> Option<Regex> {
    Regex::new(&format!(r"\A(?:{pattern})\z")).ok()
}

fn has(value: Option<String>, wanted: &ValueMatch) -> bool {
    let Some(value) = value else { return false };
    match wanted {
        ValueMatch::Present => true,
        ValueMatch::Exact(exact) => value == *exact,
        ValueMatch::Regex(pattern) => is_whole(pattern, &value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_takes_too_many_steps_takes_nothing_and_is_said() {
        let path = PathMatch::Regex(PathRegex {
            backtracking: true,
            ..PathRegex::plain("/(?=(a+)+$)b".to_owned())
        });
        let matches = RouteMatch::path(path);
        for (rest, expected) in [("aa!".to_owned(), false), ("a".repeat(60) + "!", true)] {
            let url = format!("http://a.test/{rest}");
            let request = Request::parse(&url, "GET", &[]).unwrap();
            assert_eq!(is_exhausted(&matches, &request), expected, "{url}");
            assert!(!takes(&matches, &request));
        }
    }

    #[test]
    fn a_prefix_takes_whole_segments() {
        let prefix = |path: &str| PathMatch::Prefix(path.to_owned());
        for (written, path, expected) in [
            ("/a", "/a", true),
            ("/a", "/a/b", true),
            ("/a", "/ab", false),
            ("/", "/x", true),
            ("/a/", "/a/b", true),
            ("/a%2fb", "/a/b", true),
        ] {
            assert_eq!(
                takes_path(&prefix(written), path),
                expected,
                "{written} {path}"
            );
        }
        assert!(takes_path(&PathMatch::Exact("/a".to_owned()), "/a"));
        assert!(!takes_path(&PathMatch::Exact("/a".to_owned()), "/a/"));
    }

    #[test]
    fn a_pattern_begins_where_the_path_does_in_any_case() {
        let regex = |pattern: &str| PathMatch::Regex(PathRegex::plain(pattern.to_owned()));
        assert!(takes_path(&regex("/a[0-9]"), "/A1/x"));
        assert!(!takes_path(&regex("/a[0-9]"), "/b/a1"));
        let anywhere = PathRegex::starting_with("/A");
        assert!(takes_path(&PathMatch::Regex(anywhere.clone()), "/Ab"));
        assert!(!takes_path(&PathMatch::Regex(anywhere), "/ab"));
    }

    #[test]
    fn groups_are_those_of_the_first_place() {
        let numbers = PathRegex {
            groups: 1,
            scope: RegexScope::Anywhere,
            ..PathRegex::plain("([0-9]+)".to_owned())
        };
        let groups = captures(&numbers, "/a1/b22").unwrap();
        assert_eq!(groups.get(1), Some("1"));
    }

    #[test]
    fn a_pattern_that_takes_steps_back_is_that_of_pcre() {
        let regex = |pattern: &str| PathRegex {
            backtracking: true,
            groups: 2,
            ..PathRegex::plain(pattern.to_owned())
        };
        let twice = regex(r"/([a-z]+)/\1(?!x)(.*)");
        let groups = captures(&twice, "/ab/AB/c").unwrap();
        assert_eq!([groups.get(1), groups.get(2)], [Some("ab"), Some("/c")]);
        assert_eq!(groups.get(3), None);
        assert!(captures(&twice, "/ab/abx").is_none());
        assert!(takes_path(&PathMatch::Regex(regex("/(?!a)b|/c")), "/x/c"));
        assert!(!takes_path(
            &PathMatch::Regex(regex("/(?=(a+)+$)b")),
            "/aaa!"
        ));
    }
}
