//! Builder of a server, from the path rules and settings of its host.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{
    Action, BackendId, ClientCertificates, ConnectionSettings, Expression, HostTls, Hostname,
    HttpRoute, PathMatch, ReasonCode, Redirect, RedirectTo, RouteId, Server, ServerName,
};
use sluice_syntax::path::{self, PathType};
use sluice_translate_engine::{
    ErrorService, ObjectRef, Owners, Report, Reporter, Severity, closed_text,
};

use super::certified_names::CertifiedNames;
use super::claimed_paths::ClaimedPaths;
use super::closing::{ClosedNamespaces, Closing};
use super::host_ownership::Tenants;
use super::path_rule::{HostContext, PathRule, RuleRoute};
use super::server_snippet::{self, NamespaceSnippet};
use super::{path_changes, patterns, server_rewrites, shared, unmatched};
use crate::global::Globals;
use crate::route_names::RouteNames;
use crate::snippet::ServerSnippet;

const CLOSED_BELOW: &str = concat!(
    "path not served; ",
    closed_text!(),
    ": those below the readable beginning of the path"
);

/// A server as it is built, and what belongs to it.
pub(super) struct BuiltServer {
    pub(super) server: Server,
    pub(super) owners: Owners,
    pub(super) error_services: BTreeMap<RouteId, ErrorService>,
}

/// Path rules and settings of one host, as its Ingresses ask for them.
#[derive(Debug, Default)]
pub(super) struct ServerBuilder {
    /// The paths, and who has them.
    pub(super) paths: ClaimedPaths,
    /// `spec.defaultBackend` of the first Ingress of the host.
    pub(super) default: Option<PathRule>,
    /// Rule for unmatched paths without a default: as in ingress-nginx, the annotations of the first Ingress of the host apply
    /// to them.
    pub(super) unmatched: Option<PathRule>,
    /// Decided by the first Ingress of the host's own namespace that has a `tls` section.
    pub(super) tls: Option<HostTls>,
    /// Of the first Ingress of the host's own namespace that asks clients for certificates, and the Ingress.
    pub(super) clients: Option<(ClientCertificates, ObjectRef)>,
    /// Namespaces that have named the host.
    pub(super) tenants: Tenants,
    pub(super) app_root: Option<Expression>,
    /// The Ingress with `from-to-www-redirect`.
    pub(super) from_to_www: Option<ObjectRef>,
    pub(super) ciphers: Vec<String>,
    pub(super) prefer_server_ciphers: Option<bool>,
    /// Of the first `server-snippet` of the host's own namespace.
    pub(super) connections: ConnectionSettings,
    /// The Ingresses that want TLS to end at the pods.
    pub(super) passthrough: Vec<ObjectRef>,
    /// Namespaces of which nothing is let through.
    pub(super) closed: ClosedNamespaces,
    /// `server-snippet` of the first Ingress of each namespace that has one.
    pub(super) snippets: BTreeMap<Arc<str>, NamespaceSnippet>,
}

impl ServerBuilder {
    /// All path rules.
    pub(super) fn rules(&self) -> impl Iterator<Item = &PathRule> {
        let paths = self.paths.iter();
        paths.chain(&self.default).chain(&self.unmatched)
    }

    /// The same, to change them.
    pub(super) fn rules_mut(&mut self) -> impl Iterator<Item = &mut PathRule> {
        let paths = self.paths.iter_mut();
        paths.chain(&mut self.default).chain(&mut self.unmatched)
    }

    /// With the ConfigMap's snippet in every namespace.
    fn with_configmap_snippet(mut self, globals: &Globals) -> Self {
        if globals.server_snippet.is_some() {
            let snippets = std::mem::take(&mut self.snippets);
            let rules: Vec<&PathRule> = self.rules().collect();
            self.snippets = server_snippet::with_configmap_snippet(snippets, globals, &rules);
        }
        self
    }

    pub(super) fn build(
        self,
        (name, aliases): (&ServerName, Vec<ServerName>),
        certified: &CertifiedNames,
        fallback: Option<&BackendId>,
        (globals, health_check_path): (&Globals, &str),
        reports: &mut Vec<Report>,
    ) -> BuiltServer {
        let has_root = self.paths.rule("/", PathType::Prefix).is_some();
        let ServerBuilder {
            paths,
            tenants,
            default,
            unmatched,
            app_root,
            clients,
            ciphers,
            prefer_server_ciphers,
            connections,
            closed,
            snippets,
            ..
        } = self
            .with_configmap_snippet(globals)
            .without_closed(name, reports);
        let is_closed = globals.closed || closed.are_all();
        let operators = NamespaceSnippet::of_nobody(globals);
        let inherited = server_snippet::inherited(&snippets, operators.as_ref());
        let host = host_context(certified, fallback, globals, &inherited);
        let mut rules = paths.into_rules();
        let health = unmatched::health_route(name, health_check_path, &rules);
        let is_unmatched = !has_root && default.is_none();
        let has_patterns = rules.iter().any(PathRule::is_pattern);
        rules.extend(default.filter(|_| !has_root));
        let all = (rules.as_slice(), &snippets);
        let mut routes = routes_of_all(all, (name, host), &tenants, has_patterns, reports);
        if is_unmatched {
            let rest = (unmatched.as_ref(), has_patterns);
            let all = (all, operators.as_ref());
            unmatched::add(&mut routes, rest, all, (name, host), reports);
        }
        let rewriting = server_rewrites::Host::new(name, &tenants, app_root.as_ref());
        let rewriting = (&snippets, rewriting);
        let routes = changed(routes, rewriting, (name, host), is_closed, reports);
        let (owners, error_services) = claims(&routes, fallback);
        BuiltServer {
            server: Server {
                aliases,
                client_certificates: clients.map(|(clients, _)| clients),
                app_root: app_root.filter(|_| !is_closed),
                ciphers,
                prefer_server_ciphers,
                connections,
                routes: health.into_iter().chain(without_rules(routes)).collect(),
            },
            owners,
            error_services,
        }
    }
}

fn host_context<'a>(
    certified: &'a CertifiedNames,
    error_service: Option<&'a BackendId>,
    globals: &'a Globals,
    snippets: &'a BTreeMap<&'a str, Arc<ServerSnippet>>,
) -> HostContext<'a> {
    HostContext {
        certified,
        error_service,
        globals,
        snippets,
    }
}

/// Routes with the changes of their paths, or closed with everything.
fn changed<'r>(
    routes: Vec<RuleRoute<'r>>,
    (snippets, rewriting): (
        &BTreeMap<Arc<str>, NamespaceSnippet>,
        server_rewrites::Host<'_>,
    ),
    (name, host): (&ServerName, HostContext<'_>),
    is_closed: bool,
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'r>> {
    let routes = server_rewrites::among(routes, snippets, rewriting, reports);
    let mut routes = path_changes::among(routes, (name, host.globals), reports);
    if is_closed {
        unmatched::close(&mut routes, name);
    }
    routes
}

fn without_rules(routes: Vec<RuleRoute<'_>>) -> impl Iterator<Item = HttpRoute> {
    routes.into_iter().map(|(route, _)| route)
}

/// Owners of routes, and the error services that are asked where their pods are missing.
fn claims(
    routes: &[(HttpRoute, Option<&PathRule>)],
    fallback: Option<&BackendId>,
) -> (Owners, BTreeMap<RouteId, ErrorService>) {
    let (mut owners, mut error_services) = (BTreeMap::new(), BTreeMap::new());
    for (route, rule) in routes {
        let Some(rule) = rule else { continue };
        owners.insert(route.id.clone(), rule.owner_of(&route.matches.path));
        let Some(backend) = rule.target.error_service.clone() else {
            continue;
        };
        let service = ErrorService {
            backend,
            next: fallback.cloned(),
            headers: rule
                .target
                .names
                .iter()
                .flat_map(RouteNames::headers)
                .collect(),
        };
        error_services.insert(route.id.clone(), service);
    }
    (owners, error_services)
}

/// The routes of all namespaces.
fn routes_of_all<'a>(
    (rules, snippets): (&'a [PathRule], &'a BTreeMap<Arc<str>, NamespaceSnippet>),
    (name, host): (&ServerName, HostContext<'_>),
    tenants: &Tenants,
    has_patterns: bool,
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let has_locations = snippets.values().any(NamespaceSnippet::has_locations);
    if tenants.are_shared() && (has_patterns || has_locations) {
        return shared::routes((rules, snippets), (name, host), tenants, reports);
    }
    let rules: Vec<_> = rules.iter().collect();
    let snippet = snippets.values().next();
    routes_of_namespace(&rules, snippet, (name, host), reports)
}

/// As in ingress-nginx, where the paths of a host are all patterns, or none is.
pub(super) fn routes_of_namespace<'a>(
    rules: &[&'a PathRule],
    snippet: Option<&'a NamespaceSnippet>,
    (name, host): (&ServerName, HostContext<'_>),
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let routes = if rules.iter().any(|rule| rule.is_pattern()) {
        patterns::routes(rules, name, host, reports)
    } else {
        literal(rules, name, host, reports)
    };
    match snippet {
        Some(snippet) => snippet.with_locations(routes, name, &host, reports),
        None => routes,
    }
}

/// Exact paths first, then prefixes, the longest first; each takes the paths that it names.
fn literal<'a>(
    rules: &[&'a PathRule],
    name: &ServerName,
    host: HostContext<'_>,
    reports: &mut Vec<Report>,
) -> Vec<RuleRoute<'a>> {
    let (mut by_path, mut closing): (BTreeMap<PathMatch, &PathRule>, Vec<&PathRule>) =
        Default::default();
    for rule in rules {
        if let Err(reason) = path::literal(&rule.path) {
            let consequence = if rule.annotations.restricts_access() {
                closing.push(rule);
                CLOSED_BELOW
            } else {
                "path not served"
            };
            let mut reporter = Reporter::new(rule.owner.clone(), reports);
            reporter.report(
                ReasonCode::InvalidValue,
                Severity::Error,
                rule.field.clone(),
                reason,
                consequence,
            );
            continue;
        }
        let path = match rule.kind {
            PathType::Exact => PathMatch::Exact(rule.path.clone()),
            PathType::Prefix => PathMatch::Prefix(rule.path.clone()),
        };
        by_path.entry(path).or_insert(rule);
    }
    let closed = closed(closing, &mut by_path, reports);
    let route = |path: &PathMatch, rule: &PathRule| match closed.contains(path) {
        true => HttpRoute::new(name, path.clone(), Action::Denied, Arc::default()),
        false => rule.route(name, path.clone(), &host),
    };
    let bare = bare_forms(&by_path).into_iter().map(|(bare, path)| {
        let rule = by_path[path];
        let to = match rule.annotations.relative_redirects {
            true => RedirectTo::RelativePath,
            false => RedirectTo::Path,
        };
        let to = to(path.text().to_owned());
        (rule.bare_form(name, bare, route(path, rule), to), None)
    });
    let claimed = by_path
        .iter()
        .map(|(path, rule)| (route(path, rule), Some(*rule)));
    let mut routes: Vec<RuleRoute<'_>> = claimed.chain(bare).collect();
    routes.sort_by(|(a, _), (b, _)| precedence(&a.matches.path).cmp(&precedence(&b.matches.path)));
    routes
}

/// In the place of paths that guard access and are none: nothing below the segments before what is wrong in them is open, unless
/// another namespace has it.
fn closed<'a>(
    closing: Vec<&'a PathRule>,
    by_path: &mut BTreeMap<PathMatch, &'a PathRule>,
    reports: &mut Vec<Report>,
) -> BTreeSet<PathMatch> {
    let mut closed = BTreeSet::new();
    for rule in closing {
        let beginning = path::literal_beginning(&rule.path);
        for path in path::prefixes_below(&beginning).map(PathMatch::Prefix) {
            let other = by_path.get(&path);
            if other.is_none_or(|other| other.owner.key.namespace == rule.owner.key.namespace) {
                if let Some(other) = other {
                    let closing = Closing::new(&rule.owner, &rule.field);
                    closing.report_below(other.owned(), &beginning, reports);
                }
                by_path.insert(path.clone(), rule);
                closed.insert(path);
            }
        }
    }
    closed
}

/// A path with a trailing slash takes its bare form along, as nginx does: `/docs` leads to `/docs/`.
fn bare_forms<'a>(by_path: &'a BTreeMap<PathMatch, &PathRule>) -> BTreeMap<&'a str, &'a PathMatch> {
    let slashed = by_path.keys().filter_map(|path| {
        let bare = path
            .text()
            .strip_suffix('/')
            .filter(|bare| !bare.is_empty())?;
        let taken = by_path.contains_key(&PathMatch::Prefix(bare.to_owned()))
            || by_path.contains_key(&PathMatch::Exact(bare.to_owned()));
        (!taken).then_some((bare, path))
    });
    slashed.collect()
}

fn precedence(path: &PathMatch) -> (bool, Reverse<usize>, &str) {
    let text = path.text();
    (
        !matches!(path, PathMatch::Exact(_)),
        Reverse(text.len()),
        text,
    )
}

/// A host with `www.`, or without it.
pub(super) fn www_counterpart(name: &ServerName) -> Option<ServerName> {
    let ServerName::Exact(host) = name else {
        return None;
    };
    let other = match host.as_str().strip_prefix("www.") {
        Some(bare) => Hostname::parse(bare),
        None => Hostname::parse(&format!("www.{}", host.as_str())),
    };
    other.ok().map(ServerName::Exact)
}

/// The other name of a host, which leads to the host.
pub(super) fn www_redirect(name: &ServerName, globals: &Globals) -> Option<(ServerName, Server)> {
    let (ServerName::Exact(host), other) = (name, www_counterpart(name)?) else {
        return None;
    };
    let redirect = Redirect {
        status: globals.redirects.status,
        to: RedirectTo::Host(host.clone()),
    };
    let root = PathMatch::Prefix("/".to_owned());
    let action = match globals.closed {
        true => Action::Denied,
        false => Action::Redirect(redirect.into()),
    };
    let route = HttpRoute::new(&other, root, action, Arc::default());
    Some((
        other,
        Server {
            routes: vec![route],
            ..Server::default()
        },
    ))
}
