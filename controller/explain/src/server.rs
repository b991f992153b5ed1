//! The server of a host.

use std::sync::Arc;

use sluice_ir::{BackendId, Config, Hostname, Server, ServerName, Shared};

use crate::request::Request;

/// A server, and the name by which it was found.
pub(crate) struct Found<'c> {
    pub(crate) name: ServerName,
    pub(crate) server: &'c Arc<Server>,
}

/// Its own name or an alias, then the wildcard over it, then the catch-all.
pub(crate) fn find<'c>(servers: &'c Shared<ServerName, Server>, host: &str) -> Option<Found<'c>> {
    let exact = Hostname::parse(host).ok().map(ServerName::Exact);
    let wildcard = exact
        .as_ref()
        .and_then(ServerName::wildcard_suffix)
        .map(ServerName::Wildcard);
    let names = [exact, wildcard, Some(ServerName::CatchAll)];
    names.into_iter().flatten().find_map(|name| {
        let server = servers.get(&name).or_else(|| by_alias(servers, &name))?;
        Some(Found { name, server })
    })
}

/// True of a host by one of these names.
pub(crate) fn is_one_of(names: &[ServerName], host: &str) -> bool {
    let Ok(host) = Hostname::parse(host).map(ServerName::Exact) else {
        return names.contains(&ServerName::CatchAll);
    };
    let wildcard = host.wildcard_suffix().map(ServerName::Wildcard);
    names
        .iter()
        .any(|name| *name == host || Some(name) == wildcard.as_ref())
}

fn by_alias<'c>(
    servers: &'c Shared<ServerName, Server>,
    name: &ServerName,
) -> Option<&'c Arc<Server>> {
    let has_it = |server: &&Arc<Server>| server.aliases.contains(name);
    servers.values().find(has_it)
}

/// The backend that ends TLS itself.
pub(crate) fn passthrough<'c>(config: &'c Config, request: &Request) -> Option<&'c BackendId> {
    let host = Hostname::parse(&request.host).ok()?;
    let backend = config.passthrough.get(&host);
    backend.filter(|_| request.scheme == "https")
}

/// The certificate that its clients see; `None` is the default certificate.
pub(crate) fn certificate(config: &Config, request: &Request) -> Option<String> {
    if request.scheme != "https" {
        return None;
    }
    let own = Hostname::parse(&request.host).ok().map(ServerName::Exact)?;
    let found = match config.tls.get(&own) {
        Some(tls) if tls.certificate.is_some() || tls.no_wildcard_certificate => Some(tls),
        _ => config
            .tls
            .get(&ServerName::Wildcard(own.wildcard_suffix()?)),
    };
    let id = found.and_then(|tls| tls.certificate.as_ref());
    id.or(config.default_certificate.as_ref())
        .map(|id| id.as_str().to_owned())
}
