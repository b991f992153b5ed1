//! Substitutes for rejected parts: the last accepted version, else closed paths.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{
    Action, Config, HostTls, HttpRoute, PathMatch, PathRegex, RouteMatch, Server, ServerName,
};
use sluice_translate::ObjectKey;

use super::part::Publication;

/// One Ingress of a host, whose routes were refused.
#[derive(Clone, Copy, Debug)]
pub(super) struct Culprit<'a> {
    pub(super) owner: &'a ObjectKey,
    /// Configuration that all data planes accepted before.
    pub(super) before: Option<&'a Publication>,
}

/// A host of which nothing is served; its other names are closed with it.
pub(super) fn closed_host(host: &ServerName, server: &Server) -> Server {
    let root = PathMatch::Prefix("/".to_owned());
    let route = HttpRoute::new(host, root, Action::Denied, Arc::default());
    Server {
        aliases: server.aliases.clone(),
        routes: vec![route],
        ..Server::default()
    }
}

/// TLS of a whole host: as before, else with the default certificate, which no data plane rejects.
pub(super) fn handshakes(
    host: &ServerName,
    now: &Publication,
    before: Option<&Publication>,
    config: &mut Config,
) {
    let names = before.map(|before| before.names(host)).unwrap_or_default();
    for name in names.into_iter().chain(now.names(host)) {
        let was = before.and_then(|before| before.config.tls.get(&name));
        match was {
            Some(was) => drop(config.tls.insert(name.clone(), was.clone())),
            // Not the certificate of a wildcard, which may be another namespace's.
            None if config.tls.contains_key(&name) => {
                config.tls.insert(
                    name.clone(),
                    HostTls {
                        no_wildcard_certificate: true,
                        ..HostTls::default()
                    },
                );
            }
            None => {}
        }
        let trusted = was
            .and_then(|was| was.client_validation.as_ref())
            .map(|clients| &clients.ca);
        for id in was
            .and_then(|was| was.certificate.as_ref())
            .into_iter()
            .chain(trusted)
        {
            let secret = before.and_then(|before| before.config.secrets.get(id));
            if let Some(secret) = secret.filter(|_| !config.secrets.contains_key(id)) {
                config.secrets.insert(id.clone(), secret.clone());
            }
        }
        if let ServerName::Exact(name) = &name {
            match before.and_then(|before| before.config.passthrough.get(name)) {
                Some(was) => drop(config.passthrough.insert(name.clone(), was.clone())),
                None => drop(config.passthrough.remove(name)),
            }
        }
    }
}

/// A host without what some of its Ingresses say of it now. Others have what they say now.
pub(super) fn replaced(
    host: &ServerName,
    now: &Publication,
    refused: &[Culprit<'_>],
) -> Option<Arc<Server>> {
    let server = now.config.servers.get(host)?;
    if let [
        Culprit {
            owner,
            before: Some(before),
        },
    ] = refused
        && let Some(was) = before.config.servers.get(host)
        && is_guarded_as(was, server)
        && all_but(owner, now, server) == all_but(owner, before, was)
    {
        return Some(Arc::clone(was));
    }
    let mut kept: Vec<HttpRoute> = Vec::new();
    // Names of routes are unique. What would come second would never be reached.
    let mut closing: Vec<HttpRoute> = Vec::new();
    for route in &server.routes {
        let culprit = now
            .owner(&route.id)
            .and_then(|owner| refused.iter().find(|it| it.owner == owner));
        match culprit.map(|culprit| last(host, route, culprit)) {
            None => kept.push(route.clone()),
            Some(Some(last)) => kept.push(last.clone()),
            Some(None)
                if route.has_access_control()
                    || !matches!(route.matches.path, PathMatch::Regex(_)) =>
            {
                kept.push(closed(host, route));
            }
            // No access is restricted here, and a prefix is more than the pattern: others keep what is theirs below it.
            Some(None) => {
                let closed = closed(host, route);
                closing.retain(|other| other.id != closed.id);
                closing.push(closed);
                continue;
            }
        }
        place(&mut kept, &mut closing);
    }
    kept.append(&mut closing);
    let mut seen = BTreeSet::new();
    kept.retain(|route| seen.insert(route.id.clone()));
    Some(Arc::new(Server {
        routes: kept,
        ..Server::clone(server)
    }))
}

/// True if a server keeps away whom another one keeps away, on each of its paths.
pub(super) fn is_guarded_as(was: &Server, now: &Server) -> bool {
    let clients = &now.client_certificates;
    let guarded = now.routes.iter().filter(|now| now.has_access_control());
    let same = |now: &HttpRoute| was.routes.iter().find(|was| was.id == now.id);
    (clients.is_none() || was.client_certificates == *clients)
        && guarded
            .into_iter()
            .all(|now| same(now).is_some_and(|was| was.is_guarded_as(now)))
}

/// The route of the same path that was accepted, if that keeps away whom this one does.
fn last<'a>(host: &ServerName, route: &HttpRoute, refused: &Culprit<'a>) -> Option<&'a HttpRoute> {
    let before = refused.before?;
    let was = before.config.servers.get(host)?;
    let same = was.routes.iter().find(|was| was.id == route.id)?;
    (before.owner(&same.id) == Some(refused.owner) && same.is_guarded_as(route)).then_some(same)
}

/// The last one that was kept comes before what is closed only if it is about the same paths or fewer of them.
fn place(kept: &mut Vec<HttpRoute>, closing: &mut Vec<HttpRoute>) {
    let Some(last) = kept.pop() else { return };
    let (behind, before): (Vec<_>, Vec<_>) = std::mem::take(closing)
        .into_iter()
        .partition(|closed| is_within(&last.matches.path, &closed.matches.path));
    kept.extend(before);
    kept.push(last);
    *closing = behind;
}

/// True if every path that the first matches begins as those that the second matches, as far as that can be decided.
fn is_within(inner: &PathMatch, outer: &PathMatch) -> bool {
    let (inner, outer) = (beginning(inner), beginning(outer));
    inner
        .to_ascii_lowercase()
        .starts_with(&outer.to_ascii_lowercase())
}

fn beginning(path: &PathMatch) -> String {
    match path {
        PathMatch::Exact(path) | PathMatch::Prefix(path) => path.clone(),
        PathMatch::Regex(regex) => sluice_pattern::literal_prefix(regex.anchored()),
    }
}

/// All that a route may take, without a pattern that an engine could refuse.
fn closed(host: &ServerName, route: &HttpRoute) -> HttpRoute {
    let path = match &route.matches.path {
        PathMatch::Exact(_) | PathMatch::Prefix(_) => route.matches.path.clone(),
        PathMatch::Regex(regex) => {
            let beginning = sluice_pattern::covering_prefix(regex.anchored());
            PathMatch::Regex(PathRegex::plain(sluice_pattern::escape(&beginning)))
        }
    };
    let closed = HttpRoute::new(host, path, Action::Denied, Arc::default());
    if route.matches.is_path_only() {
        return closed;
    }
    // Values of headers and parameters may be what was refused.
    let matches = RouteMatch {
        method: route.matches.method.clone(),
        ..closed.matches.clone()
    };
    HttpRoute {
        id: route.id.clone(),
        matches,
        ..closed
    }
}

/// Routes of other owners on a host, in order.
fn all_but(owner: &ObjectKey, publication: &Publication, server: &Server) -> Server {
    let mut rest = server.clone();
    rest.routes
        .retain(|route| publication.owner(&route.id) != Some(owner));
    rest
}

/// Lets a host lead where it led before: backends that only `before` has come along.
pub(super) fn with_backends_of(before: &Publication, server: &Server, config: &mut Config) {
    for id in server.routes.iter().flat_map(HttpRoute::backends) {
        if !config.backends.contains_key(id)
            && let Some(backend) = before.config.backends.get(id)
        {
            config.backends.insert(id.clone(), Arc::clone(backend));
        }
    }
}
