//! The route that takes a path after it was changed.

use regex_lite::Regex;
use sluice_ir::{HttpRoute, PathMatch, PathRegex, RegexScope, Template, TemplatePart};
use sluice_pattern::Subject;

use super::last_rewrites::{meets, slashed};
use super::path_changes::beginning;
use super::path_rule::{PathRule, RuleRoute};

/// The first route that takes all paths which a template makes. `None`: it is not known, or it depends on the request.
pub(super) fn arrival<'r, 'a>(
    routes: &'r [RuleRoute<'a>],
    to: &Template,
) -> Option<(&'r HttpRoute, Option<&'a PathRule>)> {
    let text = match to.0.first() {
        Some(TemplatePart::Text(text)) => text,
        _ => return None,
    };
    if !is_normal(text) {
        return None;
    }
    let is_one = to.as_literal().is_some();
    for (route, rule) in routes {
        let path = &route.matches.path;
        let takes = match is_one {
            true => takes(path, text)?,
            false => takes_all(path, text)?,
        };
        if takes {
            return Some((route, *rule));
        }
    }
    None
}

/// True if nginx and pods read the path as it is written.
fn is_normal(path: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let is_dots = |segment: &str| !segment.is_empty() && segment.bytes().all(|byte| byte == b'.');
    path.starts_with('/')
        && path.bytes().all(is_plain)
        && !path.contains("//")
        && !path.split('/').any(is_dots)
}

/// True if a match takes a path; `None`: it is not known.
fn takes(path: &PathMatch, text: &str) -> Option<bool> {
    match path {
        PathMatch::Exact(path) | PathMatch::Prefix(path) if path.contains('%') => None,
        PathMatch::Exact(path) => Some(path == text),
        PathMatch::Prefix(path) => Some(path == text || text.starts_with(&slashed(path))),
        PathMatch::Regex(regex) => matches(regex, text),
    }
}

fn matches(regex: &PathRegex, text: &str) -> Option<bool> {
    let subject = match regex.scope {
        RegexScope::Beginning => Subject::Path,
        RegexScope::Anywhere => Subject::InPath,
        RegexScope::AnywhereInAnyCase => Subject::InPathInAnyCase,
    };
    let pattern = sluice_pattern::re2(&regex.pattern, subject, regex.alternatives);
    let whole = Regex::new(&format!("^(?:{pattern})$")).ok();
    let whole = whole.filter(|_| !regex.backtracking && regex.conditions.is_empty())?;
    Some(whole.is_match(text))
}

/// True if a match takes all paths that begin with a text, `false` if it takes none of them; `None`: it takes some, or it is not known.
fn takes_all(path: &PathMatch, text: &str) -> Option<bool> {
    match path {
        PathMatch::Exact(path) | PathMatch::Prefix(path) if path.contains('%') => None,
        PathMatch::Exact(path) => (!path.starts_with(text)).then_some(false),
        PathMatch::Prefix(path) if text.starts_with(&slashed(path)) => Some(true),
        PathMatch::Prefix(path) => (!meets(path, text)).then_some(false),
        PathMatch::Regex(regex) => {
            let (literal, rest) = beginning(regex.anchored());
            let is_known = !literal.is_empty()
                && !regex.alternatives
                && !regex.backtracking
                && regex.conditions.is_empty();
            let is_whole = rest.is_empty() && regex.scope == RegexScope::Anywhere;
            let (lower, begin) = (literal.to_ascii_lowercase(), text.to_ascii_lowercase());
            if !is_known {
                None
            } else if !lower.starts_with(&begin) && !begin.starts_with(&lower) {
                Some(false)
            } else if is_whole && text.starts_with(&literal) {
                Some(true)
            } else {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Action, ServerName};

    use super::*;

    fn at(to: &str, paths: &[PathMatch]) -> Option<usize> {
        let routes: Vec<RuleRoute<'_>> = paths
            .iter()
            .map(|path| {
                let action = Action::Respond(200);
                let route = HttpRoute::new(
                    &ServerName::CatchAll,
                    path.clone(),
                    action,
                    std::sync::Arc::default(),
                );
                (route, None)
            })
            .collect();
        let to = match to.strip_suffix("$1") {
            Some(text) => vec![TemplatePart::Text(text.to_owned()), TemplatePart::Group(1)],
            None => vec![TemplatePart::Text(to.to_owned())],
        };
        let (found, _) = arrival(&routes, &Template(to))?;
        paths.iter().position(|path| *path == found.matches.path)
    }

    fn prefix(path: &str) -> PathMatch {
        PathMatch::Prefix(path.to_owned())
    }

    fn exact(path: &str) -> PathMatch {
        PathMatch::Exact(path.to_owned())
    }

    fn pattern(pattern: &str) -> PathMatch {
        PathMatch::Regex(PathRegex {
            scope: RegexScope::Anywhere,
            ..PathRegex::plain(pattern.to_owned())
        })
    }

    #[test]
    fn one_path_arrives_at_the_first_that_takes_it() {
        let paths = [
            exact("/robots.txt"),
            pattern("^/(?:build|config)/"),
            prefix("/shop"),
            prefix("/"),
        ];
        for (to, found) in [
            ("/robots.txt", Some(0)),
            ("/config/a.php", Some(1)),
            ("/build", Some(3)),
            ("/shop", Some(2)),
            ("/shop/a", Some(2)),
            ("/shopping", Some(3)),
            ("/index.php/.well-known/webfinger", Some(3)),
            ("/a/../shop", None),
            ("/a//b", None),
            ("/a/...", None),
            ("/%73hop", None),
        ] {
            assert_eq!(at(to, &paths), found, "{to}");
        }
        assert_eq!(at("/a", &[prefix("/%61"), prefix("/")]), None);
        assert_eq!(at("/a", &[prefix("/b")]), None);
    }

    #[test]
    fn all_paths_that_begin_alike_arrive_at_one_route_or_at_none() {
        let paths = [exact("/new/a"), prefix("/api"), prefix("/")];
        for (to, found) in [
            ("/api/$1", Some(1)),
            ("/old/$1", Some(2)),
            ("/new/$1", None),
            ("/ap$1", None),
            ("/api$1", None),
            ("$1", None),
        ] {
            assert_eq!(at(to, &paths), found, "{to}");
        }
        let beside = |regex: PathMatch| at("/new/$1", &[regex, prefix("/")]);
        assert_eq!(beside(pattern("^/old/.*\\.php$")), Some(1));
        assert_eq!(beside(pattern("^/new")), Some(0));
        for bad in ["^/new/a", "\\.php$", "^/(?:a|b)", "^/NEW"] {
            assert_eq!(beside(pattern(bad)), None, "{bad}");
        }
    }
}
