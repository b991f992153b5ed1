//! Paths of a namespace on a host where one of them is a pattern: then all of them are, as in ingress-nginx.
//!
//! Every path becomes a regular expression that begins where the path begins, whatever case the letters have, and need
//! not reach its end. The longest text is tried first. An exact path is no longer exact.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{
    Action, HttpRoute, PathMatch, PathRegex, PathRewrite, ReasonCode, Redirect, RedirectTo,
    RegexScope, ServerName,
};
use sluice_syntax::path::{self, PathType};
use sluice_syntax::{shortened, template};
use sluice_translate_engine as engine;
use sluice_translate_engine::{Report, Reporter, Severity};

use super::closing::{ClosedBeginnings, Closing};
use super::path_rule::{HostContext, PathRule, RuleRoute};

const SERVED_LOOKAHEAD: &str = "a lookahead is served that excludes texts and has nothing but .* behind it: /(?!api|v1(/|$))(.*)";

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
    for rule in sorted {
        if let Some((beginning, closing)) = beginnings.find(&rule.path) {
            closing.report_below(rule.owned(), beginning, reports);
        }
        match route(rule, &exact, name, host) {
            // What comes second is never reached.
            Ok(route) if seen.insert(route.matches.path.clone()) => {
                routes.push((route, Some(rule)));
            }
            Ok(_) => {}
            Err(reason) => {
                let closed = rule
                    .annotations
                    .restricts_access()
                    .then(|| closed(rule, name));
                let consequence = match &closed {
                    Some((beginning, _)) => {
                        let which = format!("those that begin with {:?}", shortened(beginning));
                        format!("path not served; {}", engine::closed(which))
                    }
                    None => "path not served".to_owned(),
                };
                let mut reporter = Reporter::new(rule.owner.clone(), reports);
                reporter.report(
                    ReasonCode::InvalidValue,
                    Severity::Error,
                    rule.field.clone(),
                    reason,
                    consequence,
                );
                if let Some((beginning, _)) = &closed {
                    beginnings.insert(beginning, Closing::new(&rule.owner, &rule.field));
                }
                let closed = closed.filter(|(_, route)| seen.insert(route.matches.path.clone()));
                routes.extend(closed.map(|(_, route)| (route, Some(rule))));
            }
        }
    }
    routes
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
    if target.is_url() {
        let wrong = "the host of rewrite-target must not contain captured groups";
        let (scheme, authority, path) = target.as_url().ok_or(wrong)?;
        let (host, port) = template::host_and_port(&authority).ok_or(wrong)?;
        let to = RedirectTo::Template {
            scheme,
            host,
            port,
            path: path.with_groups(groups),
        };
        route.action = Action::Redirect(Redirect { status: 302, to });
        route.https_redirect = None;
    } else {
        let to = target.with_groups(groups);
        // nginx refuses such a directive. ingress-nginx answers 500 where nothing is captured.
        if to.0.is_empty() {
            return Err(
                "rewrite-target consists of groups that the path does not capture".to_owned(),
            );
        }
        route.rewrite = Some(PathRewrite::Template(to));
    }
    Ok(route)
}

/// A prefix has an exact twin, unless another Ingress has that path; as a pattern the twin takes what both take.
fn regex(rule: &PathRule, has_twin: bool) -> Result<PathRegex, String> {
    let is_pattern = rule.is_pattern();
    let mut pattern = rule.path.clone();
    if rule.kind == PathType::Prefix && !is_pattern && has_twin && !pattern.ends_with('/') {
        pattern.push('/');
    }
    let pattern = sluice_pattern::without_lookahead(&pattern).into_owned();
    match path::pattern(&pattern) {
        Ok(shape) => Ok(PathRegex {
            pattern,
            groups: shape.groups,
            alternatives: shape.alternatives,
            scope: RegexScope::Beginning,
        }),
        // It was not meant to be a pattern, and another Ingress has made it one.
        Err(_) if !is_pattern && path::literal(&rule.path).is_ok() => {
            Ok(PathRegex::plain(sluice_pattern::escape(&pattern)))
        }
        Err(reason)
            if ["(?=", "(?!", "(?<"]
                .iter()
                .any(|look| pattern.contains(look)) =>
        {
            Err(format!("{reason}; {SERVED_LOOKAHEAD}"))
        }
        Err(reason) => Err(reason),
    }
}
