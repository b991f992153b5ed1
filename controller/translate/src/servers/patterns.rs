//! Paths of a namespace on a host where one of them is a pattern: then all of them are, as in ingress-nginx.
//!
//! Every path becomes a regular expression that begins where the path begins, whatever case the letters have, and need
//! not reach its end. The longest text is tried first. An exact path is no longer exact.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_filter_core::{Refusal, path_patterns};
use sluice_ir::{
    Action, HttpRoute, PathCondition, PathMatch, PathRegex, PathRewrite, ReasonCode, Redirect,
    RedirectTo, ServerName, Template, TemplatePart,
};
use sluice_pattern::{Condition, Conditional, Subject};
use sluice_syntax::path::{self, PathType};
use sluice_syntax::{shortened, template};
use sluice_translate_engine as engine;
use sluice_translate_engine::{Report, Reporter, Severity};

use super::closing::{ClosedBeginnings, Closing};
use super::path_rule::{HostContext, PathRule, RuleRoute};
use crate::support::DataPlane;

/// Cost of all patterns of an Ingress: R5 of the security rules. They are measured in half a second at the most, in which everybody's
/// changes wait; 5,000 patterns of the size that one may have took 20 s.
pub(crate) const MAX_PATTERN_COST: u64 = 8 << 20;

const NEEDS_BACKTRACKING: &str =
    "a pattern with lookaround, backreferences or possessive repetition that RE2 cannot do without";

/// The root of such a host.
pub(super) fn everything() -> PathMatch {
    PathMatch::Regex(PathRegex::plain("/".to_owned()))
}

pub(super) fn routes<'a>(
    rules: &[&'a PathRule],
    name: &ServerName,
    host: HostContext<'_>,
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let exact = rules.iter().filter(|rule| rule.kind == PathType::Exact);
    let exact: BTreeSet<&str> = exact.map(|rule| rule.path.as_str()).collect();
    let mut sorted = rules.to_vec();
    sorted.sort_by(|a, b| {
        b.path
            .len()
            .cmp(&a.path.len())
            .then_with(|| b.path.cmp(&a.path))
    });
    let mut routes = Vec::new();
    let mut seen = BTreeSet::new();
    let mut beginnings = ClosedBeginnings::default();
    let mut backtracking = 0;
    for rule in sorted {
        if let Some((beginning, closing)) = beginnings.find(&rule.path) {
            closing.report_below(rule.owned(), beginning, reports);
        }
        let served = route(rule, &exact, name, host);
        let served = served.and_then(|route| limited(route, &mut backtracking));
        match served {
            // What comes second is never reached.
            Ok(route) if seen.insert(route.matches.path.clone()) => {
                routes.push((route, Some(rule)));
            }
            Ok(_) => {}
            Err(reason) => {
                let closed = unserved(rule, name, reason, &mut beginnings, reports);
                let closed = closed.filter(|route| seen.insert(route.matches.path.clone()));
                routes.extend(closed.map(|route| (route, Some(rule))));
            }
        }
    }
    routes
}

/// Reports a path that is not served. Returns the route that closes what it may take, if it guards access.
fn unserved(
    rule: &PathRule,
    name: &ServerName,
    reason: String,
    beginnings: &mut ClosedBeginnings,
    reports: &mut Vec<Report>,
) -> Option<HttpRoute> {
    let guards = rule.annotations.restricts_access();
    let closed = guards.then(|| closed(rule, name));
    let consequence = match &closed {
        Some((beginning, _)) => {
            let which = format!("those that begin with {:?}", shortened(beginning));
            format!("path not served; {}", engine::closed(which))
        }
        None => "path not served".to_owned(),
    };
    Reporter::new(rule.owner.clone(), reports).report(
        ReasonCode::InvalidValue,
        Severity::Error,
        rule.field.clone(),
        reason,
        consequence,
    );
    let (beginning, route) = closed?;
    beginnings.insert(&beginning, Closing::new(&rule.owner, &rule.field));
    Some(route)
}

/// Checks that a namespace has no more patterns on a host than the filter compares for each request.
fn limited(route: HttpRoute, backtracking: &mut usize) -> Result<HttpRoute, String> {
    const MOST: usize = path_patterns::MOST_OF_NAMESPACE;
    let is_backtracking =
        matches!(&route.matches.path, PathMatch::Regex(regex) if regex.backtracking);
    *backtracking += usize::from(is_backtracking);
    match is_backtracking && *backtracking > MOST {
        true => Err(format!(
            "expected at most {MOST} patterns that RE2 does not have from one namespace on a host"
        )),
        false => Ok(route),
    }
}

/// In the place of a path that guards access and cannot be served: all that it may take, so that nothing behind it does.
fn closed(rule: &PathRule, name: &ServerName) -> (String, HttpRoute) {
    let beginning = sluice_pattern::covering_prefix(&rule.path);
    let path = PathMatch::Regex(PathRegex::plain(sluice_pattern::escape(&beginning)));
    (
        beginning,
        HttpRoute::new(name, path, Action::Denied, Arc::default()),
    )
}

fn route(
    rule: &PathRule,
    exact: &BTreeSet<&str>,
    name: &ServerName,
    host: HostContext<'_>,
) -> Result<HttpRoute, String> {
    let regex = regex(rule, exact.contains(rule.path.as_str()))?;
    let asks_filter = regex.backtracking && host.globals.data_plane != Some(DataPlane::Nginx);
    // The filter has to know the host before Envoy knows the route.
    if asks_filter && !matches!(name, ServerName::Exact(_)) {
        return Err(format!(
            "{NEEDS_BACKTRACKING} is served by Envoy on hosts without a wildcard only"
        ));
    }
    let groups = regex.groups;
    let mut route = rule.route(name, PathMatch::Regex(regex), &host);
    let Some(target) = &rule.annotations.paths.rewrite else {
        return Ok(route);
    };
    if !rule.annotations.paths.rewrites(&rule.path)
        || !matches!(rule.target.action, Action::Forward(_))
    {
        return Ok(route);
    }
    let names = rule.target.names.as_ref();
    let no_service = "rewrite-target names a Service, and the path leads to none";
    let target = target.on(names).ok_or(no_service)?;
    if target.is_url() {
        if target.has_host() {
            return Err("a URL in rewrite-target must not contain $host".to_owned());
        }
        let wrong = "the host of rewrite-target must not contain captured groups";
        let (scheme, authority, path) = target.as_url().ok_or(wrong)?;
        let (host, port) = template::host_and_port(&authority).ok_or(wrong)?;
        let path = path.with_groups(groups);
        check_text(&path, asks_filter)?;
        let to = RedirectTo::Template {
            scheme,
            host,
            port,
            path,
        };
        route.action = Action::Redirect(Redirect { status: 302, to }.into());
        route.https_redirect = None;
    } else {
        let to = target.with_groups(groups);
        check_text(&to, asks_filter)?;
        // nginx refuses such a directive. ingress-nginx answers 500 where nothing is captured.
        if to.0.is_empty() {
            return Err(
                "rewrite-target consists of groups that the path does not capture".to_owned(),
            );
        }
        route.rewrite = Some(PathRewrite::Template(to));
        let prefix = rule.annotations.paths.forwarded_prefix.as_ref();
        let prefix = prefix.and_then(|prefix| prefix.on(names));
        route.forwarded_prefix = prefix.map(|prefix| prefix.with_groups(groups));
    }
    Ok(route)
}

/// Checks that a path is more than captured groups: Envoy would leave the path as it is where they are empty.
fn check_text(to: &Template, asks_filter: bool) -> Result<(), String> {
    let mut parts = to.0.iter();
    let has_text = parts.any(|part| matches!(part, TemplatePart::Text(_)));
    match asks_filter && !has_text {
        true => Err(format!(
            "rewrite-target consists of captured groups alone, which Envoy does not support for {NEEDS_BACKTRACKING}"
        )),
        false => Ok(()),
    }
}

/// A prefix has an exact twin, unless another Ingress has that path; as a pattern the twin takes what both take.
pub(super) fn regex(rule: &PathRule, has_twin: bool) -> Result<PathRegex, String> {
    if rule.beyond_pattern_budget {
        return Err(format!(
            "expected patterns of an Ingress that cost at most {MAX_PATTERN_COST} together, got more; spread the paths over several Ingresses"
        ));
    }
    let is_pattern = rule.is_pattern();
    let mut pattern = rule.path.clone();
    if rule.kind == PathType::Prefix && !is_pattern && has_twin && !pattern.ends_with('/') {
        pattern.push('/');
    }
    // It was not meant to be a pattern, and another Ingress has made it one.
    if !is_pattern && path::pattern(&pattern).is_err() && path::literal(&rule.path).is_ok() {
        return Ok(PathRegex::plain(sluice_pattern::escape(&pattern)));
    }
    let known = &rule.annotations.paths.snippet_variables;
    let mut names = sluice_pattern::group_names(&pattern).map(str::to_ascii_lowercase);
    if let Some(name) = names.find(|name| known.contains(name)) {
        return Err(format!(
            "expected groups whose names no snippet reads, got ${name}; use numbers"
        ));
    }
    let pattern = sluice_pattern::in_common_words(&pattern).into_owned();
    in_other_words(&pattern).or_else(|reason| backtracking(pattern, reason))
}

/// A pattern as it is, for an engine that gets a number of steps.
fn backtracking(pattern: String, not_shared: String) -> Result<PathRegex, String> {
    match path_patterns::shape(&pattern) {
        Ok(shape) => Ok(PathRegex {
            groups: shape.groups,
            alternatives: shape.alternatives,
            backtracking: true,
            ..PathRegex::plain(pattern)
        }),
        Err(Refusal::NotNeeded) => Err(not_shared),
        Err(Refusal::Wrong(wrong)) => Err(format!(
            "expected a regular expression that Sluice supports, got {wrong} in {:?}",
            shortened(&pattern)
        )),
    }
}

/// A pattern that every data plane takes, and what else holds of the path.
fn in_other_words(pattern: &str) -> Result<PathRegex, String> {
    let Conditional {
        pattern,
        shape,
        conditions,
    } = shared(pattern)?;
    let condition = |condition: Condition| PathCondition {
        pattern: condition.pattern,
        is_negative: condition.is_negative,
    };
    Ok(PathRegex {
        groups: shape.groups,
        alternatives: shape.alternatives,
        conditions: conditions.into_iter().map(condition).collect(),
        ..PathRegex::plain(pattern)
    })
}

/// A pattern in common words without what only PCRE has: in other words, or as conditions beside it.
fn shared(pattern: &str) -> Result<Conditional, String> {
    let pattern = sluice_pattern::without_possessives(pattern);
    let pattern = sluice_pattern::without_lookahead(&pattern, Subject::Path).into_owned();
    match path::pattern(&pattern) {
        Ok(shape) => Ok(Conditional {
            pattern,
            shape,
            conditions: Vec::new(),
        }),
        Err(reason) => sluice_pattern::without_lookaround(&pattern).ok_or(reason),
    }
}

/// Cost of finding out whether a path can be served as a pattern ([`sluice_pattern::Shape::cost`]).
pub(super) fn cost(path: &str) -> u64 {
    /// It is large, and has been tried in other words, too.
    const OF_REFUSED: u64 = 256 << 10;
    let pattern = sluice_pattern::in_common_words(path);
    shared(&pattern).map_or(OF_REFUSED, |shared| shared.shape.cost)
}

/// True if a path may be compared as a pattern that is more than a text: its own Ingress says so, or another one of the host can make it
/// one. A name has some dots.
pub(super) fn is_costly(path: &str, is_pattern: bool) -> bool {
    const DOTS_OF_A_NAME: usize = 3;
    is_pattern
        || path.contains(['*', '+', '?', '{', '(', '[', '|', '\\'])
        || path.matches('.').count() > DOTS_OF_A_NAME
}
