//! `rewrite PATTERN PATH last` of a `server-snippet`: nginx changes the path before it looks for a location.
//!
//! ```text
//!   rewrite ^/old$ /new last:   ~ ^/old$  --> what takes /new: its guards, its pods, and the path /new
//!                               /new      --> as ever
//! ```
//!
//! A changed path has a route of its own ahead of all others, with everything of the one that it arrives at. That has to be known for all
//! paths that the rewrite makes, and must not look at the path itself; otherwise all that the namespace has of the host is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_filter_config::{KeyPart, Plain, Variable};
use sluice_ir::{
    Action, Comparison, Condition, DirectResponse, Expression, HttpRoute, LoadBalance, PathMatch,
    PathRewrite, ReasonCode, RequestTest, ResponseContent, RouteId, RouteMatch, ServerName,
};
use sluice_pattern::Subject;
use sluice_translate_engine::{Report, Reporter, Severity, closed_text};

use super::arrivals::arrival;
use super::host_ownership::Tenants;
use super::path_rule::{PathRule, RuleRoute};
use super::server_snippet::{FIELD, NamespaceSnippet};
use crate::snippet::ServerRewrite;

/// Status of requests whose query cannot be added.
const CLOSED: u16 = 503;
/// Variables that a rewrite changes, as expressions show them.
const CHANGED: [&str; 5] = [
    "$uri",
    "$args",
    "$is_args",
    "${argument ",
    "$fastcgi_script_name",
];

/// Facts about a host.
#[derive(Clone, Copy)]
pub(super) struct Host<'h> {
    name: &'h ServerName,
    /// Several namespaces have named it.
    is_shared: bool,
    has_app_root: bool,
}

impl<'h> Host<'h> {
    pub(super) fn new(
        name: &'h ServerName,
        tenants: &Tenants,
        app_root: Option<&Expression>,
    ) -> Self {
        Host {
            name,
            is_shared: tenants.are_shared(),
            has_app_root: app_root.is_some(),
        }
    }
}

/// A rewrite that cannot be served: its line, and why.
struct Refusal(usize, &'static str);

/// The routes with those of changed paths ahead of them.
pub(super) fn among<'a>(
    mut routes: Vec<RuleRoute<'a>>,
    snippets: &BTreeMap<Arc<str>, NamespaceSnippet>,
    host: Host<'_>,
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let rewriting = snippets.iter();
    for (namespace, snippet) in rewriting.filter(|(_, it)| !it.path_rewrites().is_empty()) {
        match changed(&routes, snippet, host) {
            Ok(mut all) => {
                all.append(&mut routes);
                // The first of the same path takes all of it.
                let mut seen: BTreeSet<RouteId> = BTreeSet::new();
                all.retain(|(route, _)| seen.insert(route.id.clone()));
                routes = all;
            }
            Err(refusal) => {
                report(snippet, &refusal, host, reports);
                close(&mut routes, namespace, host.name);
            }
        }
    }
    routes
}

fn close(routes: &mut [RuleRoute<'_>], namespace: &str, name: &ServerName) {
    for (route, rule) in routes {
        if rule.is_some_and(|rule| &*rule.owner.key.namespace == namespace) {
            let path = route.matches.path.clone();
            *route = HttpRoute::new(name, path, Action::Denied, Arc::default());
        }
    }
}

fn report(
    snippet: &NamespaceSnippet,
    Refusal(line, why): &Refusal,
    host: Host<'_>,
    reports: &mut Vec<Report>,
) {
    let mut reporter = Reporter::new(snippet.owner().clone(), reports);
    reporter.report(
        ReasonCode::Unsupported,
        Severity::Error,
        FIELD,
        format!(
            "line {line}: rewrite to a path is not supported on host {}: {why}",
            host.name
        ),
        concat!("snippet not served; ", closed_text!()),
    );
}

/// The routes of all changed paths.
fn changed<'a>(
    routes: &[RuleRoute<'a>],
    snippet: &NamespaceSnippet,
    host: Host<'_>,
) -> Result<Vec<RuleRoute<'a>>, Refusal> {
    let line = snippet.path_rewrites().first().map_or(1, |it| it.line);
    let is_root = |(route, rule): &RuleRoute<'_>| {
        rule.is_some() && route.matches.path == PathMatch::Prefix("/".to_owned())
    };
    let obstacle = if host.is_shared {
        Some("other namespaces have named it, too")
    } else if host.has_app_root {
        Some("it has app-root, which nginx answers first")
    } else if snippet.has_responses_of_operator() {
        Some("server-snippet of the ConfigMap has responses, which nginx would leave out")
    } else if !routes.iter().any(is_root) {
        Some("no path / takes the paths that it changes, or paths are patterns")
    } else {
        None
    };
    match obstacle {
        Some(why) => Err(Refusal(line, why)),
        None => {
            let rewrites = snippet.path_rewrites().iter();
            rewrites.map(|it| route(it, routes, host.name)).collect()
        }
    }
}

fn route<'a>(
    rewrite: &ServerRewrite,
    routes: &[RuleRoute<'a>],
    name: &ServerName,
) -> Result<RuleRoute<'a>, Refusal> {
    let refusal = |why| Refusal(rewrite.line, why);
    let regex = &rewrite.change.regex;
    // A rewrite that redirects is compared with it.
    if !sluice_pattern::is_comparable_with_query(
        &regex.pattern,
        Subject::InPath,
        regex.alternatives,
    ) {
        return Err(refusal("its pattern is too long or complex"));
    }
    let unknown = "it is not known which path or location the new path is one of";
    let (target, rule) = arrival(routes, &rewrite.change.to).ok_or_else(|| refusal(unknown))?;
    let Some(rule) = rule.filter(|rule| is_path_alike(target, rule)) else {
        let reason = "the new path is one whose settings look at the path, or lead elsewhere";
        return Err(refusal(reason));
    };
    let path = PathMatch::Regex(regex.clone());
    let mut route = HttpRoute {
        id: RouteId::from_path(name, &path),
        matches: RouteMatch::path(path),
        rewrite: matches!(target.action, Action::Forward(_)).then(|| new_path(rewrite)),
        ..target.clone()
    };
    if rewrite.takes_no_query {
        route.direct_responses.insert(0, closed_with_query());
    }
    Ok((route, Some(rule)))
}

fn new_path(rewrite: &ServerRewrite) -> PathRewrite {
    let to = &rewrite.change.to;
    match (to.as_literal(), &rewrite.query) {
        (Some(path), Some(query)) => PathRewrite::Full {
            full: format!("{path}?{query}"),
        },
        (Some(path), None) => PathRewrite::Full {
            full: path.to_owned(),
        },
        (None, _) => PathRewrite::Template(to.clone()),
    }
}

fn closed_with_query() -> DirectResponse {
    DirectResponse {
        conditions: vec![Condition {
            // Also one that is empty: Envoy keeps its question mark.
            test: RequestTest::RequestUri(Comparison::Matches("^[^?]*[?]".to_owned())),
            negated: false,
        }],
        status: CLOSED,
        precedes_preflight: true,
        of_operator: false,
        content: ResponseContent::Page,
        headers: None,
    }
}

/// True if a route does the same whatever the path is, but for responses of its server, which come before the rewrite.
fn is_path_alike(route: &HttpRoute, rule: &PathRule) -> bool {
    let is_alike = |condition: &Condition| match condition.test {
        RequestTest::Path(_) | RequestTest::Query(_) | RequestTest::Argument { .. } => false,
        RequestTest::Host(_)
        | RequestTest::Cookie { .. }
        | RequestTest::RemoteAddress(_)
        | RequestTest::Scheme(_)
        | RequestTest::Method(_)
        | RequestTest::RequestUri(_)
        | RequestTest::Header { .. } => true,
    };
    // Also those of nested locations, which come before preflights as the server's do.
    let own = rule.annotations.direct_responses.iter();
    let others = route.direct_responses.iter();
    let others = others.filter(|response| !response.precedes_preflight);
    let are_alike = own.chain(others).all(|response| {
        let is_plain = !matches!(
            response.content,
            ResponseContent::Rewritten { .. } | ResponseContent::Captured(_)
        );
        is_plain
            && response.conditions.iter().all(is_alike)
            && !reads_path(serde_json::to_string(response))
    });
    let variants = route.header_variants.iter();
    let mut conditions = variants.flat_map(|variant| &variant.conditions);
    !matches!(route.action, Action::Redirect(_))
        && route.rewrite.is_none()
        && route.forwarded_prefix.is_none()
        && rule.annotations.path_changes.is_empty()
        && !hashes_path(&rule.annotations.backend.balance.load_balance)
        && are_alike
        && conditions.all(is_alike)
        && !reads_path(serde_json::to_string(&(
            &route.policy,
            &route.filters,
            &route.header_variants,
        )))
}

/// True if pods are chosen by the path. The filter of Envoy has the one from before the rewrite.
fn hashes_path(load_balance: &LoadBalance) -> bool {
    let is_changed = |part: &KeyPart| match part {
        KeyPart::Variable(Variable::Plain(variable)) => matches!(
            variable,
            Plain::Uri | Plain::DocumentUri | Plain::Args | Plain::QueryString | Plain::IsArgs
        ),
        KeyPart::Variable(Variable::Arg(_)) => true,
        KeyPart::Variable(Variable::Cookie(_) | Variable::Header(_)) | KeyPart::Literal(_) => false,
    };
    match load_balance {
        LoadBalance::Hash { key, .. } => key.0.iter().any(is_changed),
        LoadBalance::Named(_) => false,
    }
}

/// True if a value has a variable that a rewrite changes. Looks at everything, so that no field is forgotten.
fn reads_path(settings: serde_json::Result<String>) -> bool {
    settings.is_ok_and(|shown| CHANGED.iter().any(|variable| shown.contains(variable)))
}
