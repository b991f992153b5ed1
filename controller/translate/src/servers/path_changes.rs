//! `rewrite PATTERN PATH break` of a snippet: a route of its own ahead of that of the path.
//!
//! ```text
//!   path /api, rewrite ^/api/(.*)$ /$1 break:   ~ ^/api/(.*)$  --> /$1
//!                                               /api           --> as it was asked for
//! ```
//!
//! So in a location of a `server-snippet` that leads to pods. The route takes what the path and the pattern take, so the pattern must not reach beyond the path. Where that cannot be seen the
//! path is closed: half of a snippet is not served.

mod locations;
mod refusal;

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{
    Action, HttpRoute, PathMatch, PathRegex, PathRewrite, RegexScope, RouteId, RouteMatch,
    ServerName, TemplatePart,
};
use sluice_pattern::Subject;
use sluice_translate_engine::Report;

use super::last_rewrites;
use super::path_rule::{Origin, PathRule, RuleRoute};
use crate::global::Globals;
use crate::snippet::PathChange;

/// The routes with those of changed paths among them.
pub(super) fn among<'a>(
    routes: Vec<RuleRoute<'a>>,
    (name, globals): (&ServerName, &Globals),
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let has_changes = |(_, rule): &RuleRoute<'_>| {
        rule.is_some_and(|rule| !rule.annotations.path_changes.is_empty())
    };
    if !routes.iter().any(has_changes) {
        return routes;
    }
    let paths: Vec<PathMatch> = routes
        .iter()
        .map(|(route, _)| route.matches.path.clone())
        .collect();
    let all_routes: Vec<(PathMatch, Option<&PathRule>)> = routes
        .iter()
        .map(|(route, rule)| (route.matches.path.clone(), *rule))
        .collect();
    let mut all: Vec<RuleRoute<'a>> = Vec::new();
    // The first of the same path takes all of it.
    let mut seen: BTreeSet<RouteId> = BTreeSet::new();
    for (route, rule) in routes {
        let changes = rule.map_or(&[][..], |rule| rule.annotations.path_changes.as_slice());
        let (Action::Forward(_), [_, ..], Some(rule)) = (&route.action, changes, rule) else {
            all.push((route, rule));
            continue;
        };
        let changed: Result<Vec<_>, Unknown> = changes
            .iter()
            .map(|change| {
                let changed = changed(&route, rule, change, name)?;
                let is_known = changed.is_none() || is_found_again(&route, change, &paths);
                is_known.then_some(changed).ok_or(Unknown)
            })
            .collect();
        let Ok(changed) = changed else {
            let cause = refusal::in_the_way(&route, changes, &all_routes, globals);
            refusal::report(rule, changes, &cause, reports);
            let path = route.matches.path;
            let closed = HttpRoute::new(name, path, Action::Denied, Arc::default());
            all.push((closed, Some(rule)));
            continue;
        };
        let changed = changed.into_iter().flatten().chain([route]);
        let changed = changed.filter(|route| seen.insert(route.id.clone()));
        all.extend(changed.map(|route| (route, Some(rule))));
    }
    all
}

/// `false`: nginx may take another location for the changed path, or change it again.
fn is_found_again(route: &HttpRoute, change: &PathChange, paths: &[PathMatch]) -> bool {
    let from = change.regex.pattern.strip_prefix('^').map(beginning);
    !change.is_last
        || from.is_some_and(|(from, _)| {
            last_rewrites::is_found_again(&route.matches.path, &from, change, paths)
        })
}

/// The route of a changed path, if it takes anything. The error: that cannot be said.
fn changed(
    route: &HttpRoute,
    rule: &PathRule,
    change: &PathChange,
    name: &ServerName,
) -> Result<Option<HttpRoute>, Unknown> {
    if let PathMatch::Exact(path) = &route.matches.path {
        let to = exactly(path, change)?;
        return Ok(to.map(|full| HttpRoute {
            rewrite: Some(PathRewrite::Full { full }),
            ..route.clone()
        }));
    }
    let path = &route.matches.path;
    let regex = match rule.origin {
        Origin::Ingress => within(path, &change.regex)?,
        Origin::ServerSnippet | Origin::ConfigMap => locations::within(path, &change.regex)?,
    };
    let Some(regex) = regex else {
        return Ok(None);
    };
    // A rewrite that redirects is compared with it.
    if !sluice_pattern::is_comparable_with_query(&regex.pattern, Subject::InPath, false) {
        return Err(Unknown);
    }
    let path = PathMatch::Regex(regex);
    Ok(Some(HttpRoute {
        id: RouteId::from_path(name, &path),
        matches: RouteMatch::path(path),
        rewrite: Some(PathRewrite::Template(change.to.clone())),
        ..route.clone()
    }))
}

/// The path that one is changed to, if it is.
fn exactly(path: &str, change: &PathChange) -> Result<Option<String>, Unknown> {
    let pattern = &change.regex.pattern;
    let (literal, tail) = beginning(pattern.strip_prefix('^').unwrap_or(pattern));
    if change.regex.alternatives || !change.regex.conditions.is_empty() {
        return Err(Unknown);
    }
    if !path.contains(&literal) {
        return Ok(None);
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let rest = path.strip_prefix(literal.as_str()).ok_or(Unknown)?;
    let group = match tail {
        "(.*)" | "(.*)$" => rest,
        "/?(.*)" | "/?(.*)$" => rest.strip_prefix('/').unwrap_or(rest),
        "(/.*)" | "(/.*)$" if rest.is_empty() => return Ok(None),
        "" => "",
        "$" | "(/.*)?$" | "(/|$)(.*)" | "(/|$)(.*)$" if rest.is_empty() => "",
        _ => return Err(Unknown),
    };
    if !path.bytes().all(is_plain) {
        return Err(Unknown);
    }
    let parts = change.to.0.iter().map(|part| match part {
        TemplatePart::Text(text) => Ok(text.as_str()),
        TemplatePart::Group(1) => Ok(group),
        TemplatePart::Group(_) => Ok(""),
        TemplatePart::Host => Err(Unknown),
    });
    parts.collect::<Result<_, _>>().map(Some)
}

/// No pattern is known of all that a path and a pattern take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unknown;

/// The pattern of all that a path and a pattern take; `None`: nothing.
fn within(path: &PathMatch, regex: &PathRegex) -> Result<Option<PathRegex>, Unknown> {
    if regex.alternatives || !regex.conditions.is_empty() {
        return Err(Unknown);
    }
    let anchored = regex.pattern.strip_prefix('^');
    let (literal, _) = beginning(anchored.unwrap_or(&regex.pattern));
    let is_below = |path: &str| {
        let rest = literal.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_beside = |path: &str| anchored.is_some() && !path.starts_with(&literal);
    let pattern = match path {
        PathMatch::Prefix(path) if path == "/" => return Ok(Some(regex.clone())),
        PathMatch::Prefix(path) if is_beside(path) && !is_below(path.trim_end_matches('/')) => {
            return Ok(None);
        }
        PathMatch::Prefix(path) => below(path, &regex.pattern).ok_or(Unknown)?,
        // A path among patterns: whatever begins so, in any case.
        PathMatch::Regex(path)
            if path.scope == RegexScope::Beginning && path.conditions.is_empty() =>
        {
            let path = sluice_pattern::literal(&path.pattern).ok_or(Unknown)?;
            let (path, literal) = (path.to_ascii_lowercase(), literal.to_ascii_lowercase());
            return match anchored {
                Some(_) if literal.starts_with(&path) => Ok(Some(regex.clone())),
                Some(_) if !path.starts_with(&literal) => Ok(None),
                _ => Err(Unknown),
            };
        }
        PathMatch::Exact(_) | PathMatch::Regex(_) => return Err(Unknown),
    };
    sluice_pattern::check(&pattern, Subject::InPath).map_err(|_| Unknown)?;
    Ok(Some(PathRegex {
        pattern,
        ..regex.clone()
    }))
}

/// The part of a pattern that is below a path, which takes whole segments.
fn below(path: &str, pattern: &str) -> Option<String> {
    let (bare, is_bare) = match path.strip_suffix('/') {
        Some(bare) => (bare, false),
        None => (path, true),
    };
    let anchored = pattern.strip_prefix('^');
    let rest = anchored.unwrap_or(pattern);
    let (literal, tail) = beginning(rest);
    let slashed = format!("{bare}/");
    if literal.starts_with(&slashed) {
        // Below the path it is found at the beginning first.
        let is_found_there = anchored.is_some() || literal == slashed;
        return is_found_there.then(|| format!("^{rest}"));
    }
    let escaped = sluice_pattern::escape(&literal);
    if literal == bare {
        let end = match tail {
            "/?(.*)" | "/?(.*)$" => "(?:/(.*))?$",
            "(.*)" | "(.*)$" => "(/.*)?$",
            "(/.*)" | "(/.*)$" | "(/.*)?$" | "(/|$)(.*)" | "(/|$)(.*)$" => tail,
            "$" if anchored.is_some() => tail,
            _ => return None,
        };
        return is_bare.then(|| format!("^{escaped}{end}"));
    }
    // The group has the rest of the path in it.
    let group = bare.strip_prefix(literal.as_str())?;
    let group = sluice_pattern::escape(group);
    let below = if is_bare { "(?:/.*)?" } else { "/.*" };
    matches!(tail, "(.*)" | "(.*)$").then(|| format!("^{escaped}({group}{below})$"))
}

/// The text that all matches of a pattern begin with, and the rest of the pattern.
pub(super) fn beginning(pattern: &str) -> (String, &str) {
    let (mut text, mut rest) = (String::new(), pattern);
    loop {
        let mut letters = rest.chars();
        let letter = match letters.next() {
            Some('\\') => letters.next().filter(char::is_ascii_punctuation),
            Some(letter) if ".[]()*+?{}|^$".contains(letter) => None,
            other => other,
        };
        let Some(letter) = letter.filter(|_| !letters.as_str().starts_with(['?', '*', '+', '{']))
        else {
            return (text, rest);
        };
        text.push(letter);
        rest = letters.as_str();
    }
}

#[cfg(test)]
mod tests {
    use sluice_ir::Template;

    use super::*;

    fn pattern(path: &str, pattern: &str) -> Result<Option<String>, Unknown> {
        let shape = sluice_pattern::check(pattern, Subject::InPath).unwrap();
        let regex = PathRegex {
            pattern: pattern.to_owned(),
            groups: shape.groups,
            alternatives: shape.alternatives,
            scope: RegexScope::Anywhere,
            conditions: Vec::new(),
            backtracking: false,
        };
        let path = PathMatch::Prefix(path.to_owned());
        Ok(within(&path, &regex)?.map(|regex| regex.pattern))
    }

    #[test]
    fn a_pattern_is_that_of_what_is_below_the_path() {
        for (path, written, within) in [
            ("/", "/api/(.*)", "/api/(.*)"),
            ("/", "^/a(b|c)$", "^/a(b|c)$"),
            ("/api", "^/api/(.*)$", "^/api/(.*)$"),
            ("/api", "/api/(.*)", "^/api/(.*)"),
            ("/api", "^/api/v1/(.*)$", "^/api/v1/(.*)$"),
            ("/api", "^/api/?(.*)$", "^/api(?:/(.*))?$"),
            ("/api", "^/api(.*)", "^/api(/.*)?$"),
            ("/api", "^/api(/|$)(.*)", "^/api(/|$)(.*)"),
            ("/api", "^/api$", "^/api$"),
            ("/api", "^/api(/.*)$", "^/api(/.*)$"),
            ("/a.b", "^/a\\.b/(.*)$", "^/a\\.b/(.*)$"),
            ("/a.b", "^(.*)$", "^(/a\\.b(?:/.*)?)$"),
            ("/api/", "^/(.*)$", "^/(api/.*)$"),
            ("/api", "/(.*)", "^/(api(?:/.*)?)$"),
            ("/api/v2", "^/api/(.*)$", "^/api/(v2(?:/.*)?)$"),
            ("/api", "^/ap(.*)$", "^/ap(i(?:/.*)?)$"),
        ] {
            let found = pattern(path, written);
            assert_eq!(found, Ok(Some(within.to_owned())), "{path} {written}");
        }
        for (path, written) in [("/web", "^/api/(.*)$"), ("/api", "^/apis/(.*)$")] {
            assert_eq!(pattern(path, written), Ok(None), "{path} {written}");
        }
        for (path, written) in [
            ("/api", "^/api[a-z](.*)$"),
            ("/api", "/api/v1/(.*)"),
            ("/a.b", "^/a.b/(.*)$"),
            ("/api/", "^/api/?(.*)$"),
            ("/api", "/api$"),
            ("/", "^/a|^/b"),
        ] {
            assert_eq!(pattern(path, written), Err(Unknown), "{path} {written}");
        }
    }

    #[test]
    fn among_patterns_a_path_takes_all_that_begins_so() {
        let regex = PathRegex::starting_with("/api/v1");
        let path = |text: &str| PathMatch::Regex(PathRegex::plain(text.to_owned()));
        assert_eq!(within(&path("/API"), &regex), Ok(Some(regex.clone())));
        assert_eq!(within(&path("/other"), &regex), Ok(None));
        for bad in ["/api(.*)", "/api/v1/a"] {
            assert_eq!(within(&path(bad), &regex), Err(Unknown), "{bad}");
        }
    }
    #[test]
    fn one_path_is_changed_at_once() {
        let changed = |path: &str, pattern: &str| {
            let shape = sluice_pattern::check(pattern, Subject::InPath).unwrap();
            let regex = PathRegex {
                groups: shape.groups,
                ..PathRegex::plain(pattern.to_owned())
            };
            let to = vec![TemplatePart::Text("/b/".to_owned()), TemplatePart::Group(1)];
            let to = Template(to);
            let change = PathChange {
                regex,
                to,
                is_last: false,
            };
            exactly(path, &change)
        };
        for (path, pattern, to) in [
            ("/shop", "/shop/?(.*)", Some("/b/")),
            ("/shop/a", "^/shop/?(.*)$", Some("/b/a")),
            ("/shop", "^(.*)$", Some("/b//shop")),
            ("/shop", "^/shop/(.*)$", None),
            ("/shop", "^/shop(/.*)$", None),
            ("/shop", "^/shop(/|$)(.*)", Some("/b/")),
        ] {
            let to = to.map(str::to_owned);
            assert_eq!(changed(path, pattern), Ok(to), "{path} {pattern}");
        }
        for (path, pattern) in [
            ("/a/shop", "/shop(.*)"),
            ("/shop", "^/s(h|k)(.*)"),
            ("/a b", "(.*)"),
        ] {
            assert_eq!(changed(path, pattern), Err(Unknown), "{path} {pattern}");
        }
    }
}
