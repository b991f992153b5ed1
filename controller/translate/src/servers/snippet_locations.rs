//! Locations of a `server-snippet` among the paths of its namespace on a host.
//!
//! nginx takes the exact path, else it looks for the longest prefix; if that does not say otherwise (`^~`), it takes the first
//! pattern, and only then the prefix. Here routes are tried in order, so the locations go where nginx would find them:
//!
//! ```text
//!   paths:     = of the snippet   =   ^~   patterns of the snippet   prefixes of both, the longest first
//!   patterns:  = of the snippet       ^~   patterns of the snippet   patterns   prefixes of the snippet
//! ```
//!
//! What ingress-nginx refuses to load, two locations with the same text, is the snippet's here: it leads to no pod. Of two snippets it is
//! the ConfigMap's.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{
    Action, HttpRoute, PathMatch, PathRegex, Policy, ReasonCode, RedirectTo, RegexScope, RouteId,
    RouteMatch, ServerName,
};
use sluice_syntax::path::PathType;
use sluice_translate_engine::{ObjectRef, Report, Reporter, Severity, closed_text};

use super::path_rule::{HostContext, Origin, PathRule, RouteTarget, RuleRoute};
use super::server_snippet::FIELD;
use crate::annotations::Annotations;
use crate::snippet::{
    Location, LocationPath, ProxyPass, REST, ServerSnippet, access_behind, client_timeouts,
};

const NOT_FOUND: u16 = 404;

/// A location as a path rule.
#[derive(Clone, Debug)]
pub(super) struct LocationRule {
    path: LocationPath,
    rule: PathRule,
    /// Pods that it is to lead to.
    pub(super) proxy: Option<ProxyPass>,
    takes_bare_form: bool,
}

impl LocationRule {
    pub(super) fn new(location: &Location, owner: &ObjectRef) -> Self {
        let Location {
            path,
            written,
            filters,
            direct_responses,
            access,
            access_log_off,
            clients,
            proxy,
            takes_bare_form,
        } = location.clone();
        let text = match &path {
            LocationPath::Exact(text)
            | LocationPath::PrefixBeforePatterns(text)
            | LocationPath::Prefix(text) => text,
            LocationPath::Pattern(regex) => &regex.pattern,
        };
        // Until it is known where it leads.
        let action = match proxy {
            Some(_) => Action::Denied,
            None => Action::Respond(NOT_FOUND),
        };
        let policy = Policy {
            ip_access: access,
            access_log_off,
            client_timeouts: client_timeouts(clients),
            ..Policy::default()
        };
        let annotations = Annotations {
            policy: Arc::new(policy),
            filters,
            direct_responses,
            path_changes: proxy
                .iter()
                .flat_map(|it| it.path_changes.clone())
                .collect(),
            ..Annotations::default()
        };
        let rule = PathRule {
            path: text.clone(),
            kind: PathType::Prefix,
            target: RouteTarget::from_action(action),
            annotations: Arc::new(annotations),
            owner: owner.clone(),
            field: FIELD.to_owned(),
            written: Some(written),
            origin: Origin::ServerSnippet,
            closing: None,
            beyond_pattern_budget: false,
        };
        LocationRule {
            path,
            rule,
            proxy,
            takes_bare_form,
        }
    }

    /// Leads to pods, with the policy of a path without annotations; its own lists of networks are asked before the operator's.
    pub(super) fn lead_to(&mut self, target: RouteTarget, of_all: &Policy) {
        let Some(proxy) = &self.proxy else { return };
        let annotations = Arc::make_mut(&mut self.rule.annotations);
        let own = &annotations.policy;
        let mut policy = Policy {
            ip_access: access_behind(&own.ip_access, &of_all.ip_access),
            access_log_off: own.access_log_off || of_all.access_log_off,
            client_timeouts: own.client_timeouts,
            ..of_all.clone()
        };
        proxy.apply_to(&mut policy);
        annotations.policy = Arc::new(policy);
        // In the scheme of its URL, whatever the client speaks.
        self.rule.target = RouteTarget {
            for_https: None,
            ..target
        };
    }

    pub(super) fn rule_mut(&mut self) -> &mut PathRule {
        &mut self.rule
    }

    /// One that the ConfigMap has for all namespaces.
    pub(super) fn of_operator(location: &Location, owner: &ObjectRef) -> Self {
        let mut rule = LocationRule::new(location, owner);
        rule.rule.origin = Origin::ConfigMap;
        rule
    }

    /// True if the ConfigMap has one of the same text, which takes its place.
    pub(super) fn is_replaced_by(&self, operators: &ServerSnippet) -> bool {
        operators.has_location(&self.path)
    }

    /// Path or pattern.
    pub(super) fn text(&self) -> &str {
        &self.rule.path
    }

    fn route<'a>(&'a self, name: &ServerName, host: &HostContext<'_>) -> RuleRoute<'a> {
        let path = match &self.path {
            LocationPath::Exact(text) => PathMatch::Exact(text.clone()),
            LocationPath::PrefixBeforePatterns(text) | LocationPath::Prefix(text) => {
                starting_with(text)
            }
            LocationPath::Pattern(regex) => PathMatch::Regex(regex.clone()),
        };
        let groups = self.proxy.as_ref().and_then(|proxy| proxy.groups.clone());
        let path = groups.map_or(path, PathMatch::Regex);
        let mut route = self.rule.route(name, path, host);
        if matches!(route.action, Action::Forward(_)) {
            route.rewrite = self.proxy.as_ref().and_then(|proxy| proxy.rewrite.clone());
        }
        (route, Some(&self.rule))
    }

    /// A location that ends with a slash and leads to pods takes its bare form along.
    fn bare_form<'a>(&'a self, name: &ServerName, host: &HostContext<'_>) -> Option<RuleRoute<'a>> {
        let text = self.prefix().filter(|_| self.takes_bare_form)?;
        let bare = text.strip_suffix('/').filter(|bare| !bare.is_empty())?;
        let (route, rule) = self.route(name, host);
        let to = RedirectTo::Path(text.to_owned());
        Some((self.rule.bare_form(name, bare, route, to), rule))
    }

    /// Literal text of a prefix.
    fn prefix(&self) -> Option<&str> {
        self.path.prefix()
    }

    /// The prefix, if nginx takes it before it looks for patterns.
    fn before_patterns(&self) -> Option<&str> {
        match &self.path {
            LocationPath::PrefixBeforePatterns(text) => Some(text),
            _ => None,
        }
    }
}

fn starting_with(text: &str) -> PathMatch {
    PathMatch::Regex(PathRegex::starting_with(&sluice_pattern::escape(text)))
}

/// Path of a location that is no pattern; `None` also for routes of no snippet.
pub(super) fn literal<'a>(route: &HttpRoute, rule: &'a PathRule) -> Option<&'a str> {
    let path = &route.matches.path;
    let begins = |regex: &PathRegex| {
        // A location that changes its path has a group of the rest.
        let text = regex.pattern.strip_suffix(REST).unwrap_or(&regex.pattern);
        text.strip_prefix('^') == Some(&*sluice_pattern::escape(&rule.path))
    };
    let is_literal = match path {
        PathMatch::Exact(_) => true,
        PathMatch::Regex(regex) => regex.scope == RegexScope::Anywhere && begins(regex),
        PathMatch::Prefix(_) => false,
    };
    (rule.origin != Origin::Ingress && is_literal).then_some(rule.path.as_str())
}

/// Routes of a namespace on a host with the locations of its snippet among them.
pub(super) fn among<'a>(
    mut routes: Vec<RuleRoute<'a>>,
    locations: &'a [LocationRule],
    (name, host): (&ServerName, &HostContext<'_>),
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    if locations.is_empty() {
        return routes;
    }
    let is_exact = |location: &&LocationRule| matches!(location.path, LocationPath::Exact(_));
    let is_pattern = |location: &&LocationRule| matches!(location.path, LocationPath::Pattern(_));
    let (first, others): (Vec<_>, Vec<_>) = locations.iter().partition(is_exact);
    let (patterns, prefixes): (Vec<_>, Vec<_>) = others.into_iter().partition(is_pattern);
    let route = |location: &'a LocationRule| location.route(name, host);
    let bare = bare_forms(&prefixes, &routes, (name, host));
    let has_location = |text: &str| prefixes.iter().any(|it| it.prefix() == Some(text));
    // The bare form of a path is no path: a location of the same text comes first.
    routes.retain(|(route, rule)| rule.is_some() || !has_location(route.matches.path.text()));
    let is_regex = |(route, _): &RuleRoute<'_>| matches!(route.matches.path, PathMatch::Regex(_));
    let has_patterns = !patterns.is_empty() || routes.iter().any(is_regex);
    let before = match has_patterns {
        true => before_patterns(&prefixes, &routes, (name, host), reports),
        false => Vec::new(),
    };
    let mut all: Vec<RuleRoute<'a>> = first.into_iter().map(route).collect();
    let (exact, rest): (Vec<_>, Vec<_>) = routes
        .into_iter()
        .partition(|(route, _)| matches!(route.matches.path, PathMatch::Exact(_)));
    all.extend(exact);
    all.extend(bare);
    if has_patterns {
        all.extend(twins(&rest, name));
    }
    all.extend(before);
    all.extend(patterns.into_iter().map(route));
    // Patterns of Ingresses come before prefixes, and all of their paths are patterns, or none.
    let mut prefixes = longest_first(prefixes).into_iter().peekable();
    for (other, rule) in rest {
        let length = nginx_text(&other.matches.path).map_or(usize::MAX, |text| text.len());
        let is_longer = |next: &&LocationRule| next.prefix().is_some_and(|it| it.len() >= length);
        while let Some(location) = prefixes.next_if(is_longer) {
            all.push(route(location));
        }
        all.push((other, rule));
    }
    all.extend(prefixes.map(route));
    without_seconds(all)
}

/// Bare forms of locations; a path or a location of the same text has its own.
fn bare_forms<'a>(
    prefixes: &[&'a LocationRule],
    routes: &[RuleRoute<'a>],
    (name, host): (&ServerName, &HostContext<'_>),
) -> Vec<RuleRoute<'a>> {
    let is_taken = |bare: &RuleRoute<'_>| {
        let text = bare.0.matches.path.text();
        let mut paths = routes.iter().map(|(route, _)| &route.matches.path);
        let mut others = prefixes.iter().filter_map(|other| other.prefix());
        others.any(|other| other == text)
            || paths.any(|path| !matches!(path, PathMatch::Regex(_)) && path.text() == text)
    };
    let all = prefixes.iter().filter_map(|it| it.bare_form(name, host));
    all.filter(|bare| !is_taken(bare)).collect()
}

/// Routes that nginx finds before it looks for patterns: each `^~`, but for what a longer prefix takes. There patterns come first, and no
/// list of routes says so. A location that answers itself comes before them instead; what leads to pods is closed.
fn before_patterns<'a>(
    prefixes: &[&'a LocationRule],
    routes: &[RuleRoute<'a>],
    (name, host): (&ServerName, &HostContext<'_>),
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let longer_than = |text: &str| {
        let mut firsts = prefixes.iter().filter_map(|it| it.before_patterns());
        firsts.find(|first| text.len() > first.len() && text.starts_with(first))
    };
    let mut before: Vec<(usize, RuleRoute<'a>)> = Vec::new();
    for location in prefixes {
        let Some(text) = location.prefix() else {
            continue;
        };
        let (route, rule) = location.route(name, host);
        let route = match longer_than(text) {
            _ if location.before_patterns().is_some() => route,
            None => continue,
            Some(_) if location.proxy.is_none() => route,
            Some(first) => closed(text, first, (&location.rule.owner, name), reports),
        };
        before.push((text.len(), (route, rule)));
    }
    for (route, rule) in routes {
        let text = nginx_text(&route.matches.path);
        let Some((text, rule)) = text.zip(*rule) else {
            continue;
        };
        if let Some(first) = longer_than(&text) {
            let route = closed(&text, first, (&rule.owner, name), reports);
            before.push((text.len(), (route, Some(rule))));
        }
    }
    before.sort_by_key(|(length, _)| Reverse(*length));
    before.into_iter().map(|(_, route)| route).collect()
}

fn closed(
    text: &str,
    first: &str,
    (owner, name): (&ObjectRef, &ServerName),
    reports: &mut Vec<Report>,
) -> HttpRoute {
    Reporter::new(owner.clone(), reports).report(
        ReasonCode::Unsupported,
        Severity::Error,
        FIELD,
        format!(
            "{text} is longer than location ^~ {first} on host {name}, and there are patterns, which nginx would compare first; \
             write location ^~ {text}"
        ),
        concat!("paths below it not served; ", closed_text!()),
    );
    HttpRoute::new(name, starting_with(text), Action::Denied, Arc::default())
}

fn longest_first(mut prefixes: Vec<&LocationRule>) -> Vec<&LocationRule> {
    prefixes.sort_by_key(|location| Reverse(location.prefix().map(str::len)));
    prefixes
}

/// ingress-nginx writes `= /foo` beside `/foo/`, and nginx finds it before all patterns and prefixes.
fn twins<'a>(routes: &[RuleRoute<'a>], name: &ServerName) -> Vec<RuleRoute<'a>> {
    let twin = |(route, rule): &RuleRoute<'a>| match &route.matches.path {
        PathMatch::Prefix(path) if !path.ends_with('/') => {
            let path = PathMatch::Exact(path.clone());
            let twin = HttpRoute {
                id: RouteId::from_path(name, &path),
                matches: RouteMatch::path(path),
                ..route.clone()
            };
            Some((twin, *rule))
        }
        _ => None,
    };
    routes.iter().filter_map(twin).collect()
}

/// Text of the location that ingress-nginx writes for a path; patterns have none.
pub(super) fn nginx_text(path: &PathMatch) -> Option<String> {
    match path {
        PathMatch::Prefix(path) if path.ends_with('/') => Some(path.clone()),
        PathMatch::Prefix(path) => Some(format!("{path}/")),
        PathMatch::Exact(_) | PathMatch::Regex(_) => None,
    }
}

/// The second of the same path is never reached.
fn without_seconds(mut routes: Vec<RuleRoute<'_>>) -> Vec<RuleRoute<'_>> {
    let mut seen = BTreeSet::new();
    routes.retain(|(route, _)| seen.insert(route.id.clone()));
    routes
}
