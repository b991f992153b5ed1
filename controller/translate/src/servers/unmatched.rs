//! Routes that no path of an Ingress is for: those of paths that nothing matches, of the health check, and redirects beside paths.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_ir::{Action, HttpRoute, PathMatch, Policy, ServerName};
use sluice_translate_engine::Report;

use super::path_rule::{HostContext, PathRule, RuleRoute};
use super::patterns;
use super::server_snippet::NamespaceSnippet;

/// Snippets of the namespaces with these rules, and the ConfigMap's alone.
type OfNamespaces<'a> = (
    (&'a [PathRule], &'a BTreeMap<Arc<str>, NamespaceSnippet>),
    Option<&'a NamespaceSnippet>,
);

/// Adds a route for the paths that nothing else matches, behind all others, and before it the locations of its snippet. Without a rule
/// it has no owner: no annotation of a tenant applies to it, the ConfigMap's snippet does.
pub(super) fn add<'a>(
    routes: &mut Vec<RuleRoute<'a>>,
    (rule, has_patterns): (Option<&'a PathRule>, bool),
    ((rules, snippets), operators): OfNamespaces<'a>,
    (name, host): (&ServerName, HostContext<'_>),
    reports: &mut Vec<Report>,
) {
    let Some(rest) = route(rule, name, &host, has_patterns) else {
        return;
    };
    let locations = match rule {
        None => operators,
        // Paths of its namespace have brought them along.
        Some(rule) if rules.iter().any(|other| is_of_one(rule, other)) => None,
        Some(rule) => snippets.get(&rule.owner.key.namespace),
    };
    let locations = locations.into_iter();
    let locations = locations.flat_map(|it| it.with_locations(Vec::new(), name, &host, reports));
    let locations = locations.map(|(route, of)| (route, of.filter(|_| rule.is_some())));
    for new in locations.chain(std::iter::once(rest)) {
        if is_new(&new.0, routes) {
            routes.push(new);
        }
    }
}

fn is_of_one(rule: &PathRule, other: &PathRule) -> bool {
    rule.owner.key.namespace == other.owner.key.namespace
}

fn route<'a>(
    rule: Option<&'a PathRule>,
    name: &ServerName,
    host: &HostContext<'_>,
    has_patterns: bool,
) -> Option<RuleRoute<'a>> {
    let path = match has_patterns {
        true => patterns::everything(),
        false => PathMatch::Prefix("/".to_owned()),
    };
    match rule {
        Some(rule) => Some((rule.route(name, path, host), Some(rule))),
        None => {
            let action = Action::to(host.error_service?.clone());
            let route = HttpRoute::new(name, path, action, Arc::default());
            let route = match &host.globals.location_snippet {
                Some(snippet) => snippet.within(route),
                None => route,
            };
            let route = match &host.globals.server_snippet {
                Some(snippet) => snippet.inherited_by(route),
                None => route,
            };
            Some((route, None))
        }
    }
}

/// `false` where something that is closed takes everything already.
fn is_new(new: &HttpRoute, routes: &[RuleRoute<'_>]) -> bool {
    routes.iter().all(|(route, _)| route.id != new.id)
}

/// Lets nothing of a host through, whether a route has an Ingress or none.
pub(super) fn close(routes: &mut [RuleRoute<'_>], name: &ServerName) {
    for (route, _) in routes {
        if route.action != Action::Denied {
            let path = route.matches.path.clone();
            *route = HttpRoute::new(name, path, Action::Denied, Arc::default());
        }
    }
}

/// For load balancers in front, which probe a port of traffic by address. As in ingress-nginx it is not logged. It says nothing of pods, and
/// stays where all else is closed.
pub(super) fn health_route(name: &ServerName, path: &str, rules: &[PathRule]) -> Option<HttpRoute> {
    let is_claimed = rules.iter().any(|rule| rule.path == path);
    if *name != ServerName::CatchAll || is_claimed {
        return None;
    }
    let policy = Policy {
        access_log_off: true,
        ..Policy::default()
    };
    let path = PathMatch::Exact(path.to_owned());
    let action = Action::Respond(200);
    Some(HttpRoute::new(name, path, action, Arc::new(policy)))
}
