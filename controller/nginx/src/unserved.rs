//! What nginx does not serve, by the name of the annotation that asks for it.

use std::fmt;

use sluice_ir::{
    Action, BackendId, Blocked, Config, Location, LocationId, Policy, Protocol, Server, ServerName, Transport,
};

/// Something of a location that is not as its owner wrote it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unserved {
    /// The location.
    pub location: LocationId,
    /// What it asks for.
    pub what: &'static str,
    /// Without it the location must not be served, and answers 503.
    pub closes: bool,
}

impl fmt::Display for Unserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unserved { location, what, closes } = self;
        let outcome = if *closes { "it answers 503" } else { "it is served without" };
        write!(f, "location {}: {what}: not served by the nginx data plane; {outcome}", location.as_str())
    }
}

/// Everything that is not served of a location of this server.
pub(crate) fn of(
    location: &Location,
    (name, server): (&ServerName, &Server),
    config: &Config,
) -> Vec<Unserved> {
    let unserved = |what, closes| Unserved { location: location.id.clone(), what, closes };
    let mut all = Vec::new();
    // Who may come in is asked for redirects, too.
    all.extend(server.clients.is_some().then(|| unserved("auth-tls-secret", true)));
    let blocks = config.edge.blocked != Blocked::default();
    all.extend(
        blocks.then(|| unserved("block-cidrs, block-user-agents or block-referers of the ConfigMap", true)),
    );
    let certificate = config.tls.contains_key(name) || config.default_certificate.is_some();
    all.extend(certificate.then(|| unserved("a certificate from a Secret", false)));
    let Action::Forward(main) = &location.action else { return all };
    all.extend(location.policy.guard.is_some().then(|| unserved("auth-type", true)));
    let canaries = location.canaries.iter().map(|canary| &canary.backend);
    let backends: Vec<&BackendId> =
        std::iter::once(main).chain(canaries).chain(&location.for_https).collect();
    let first = transport(main, config);
    for id in &backends {
        let transport = transport(id, config);
        all.extend(obstacle(&transport).map(|what| unserved(what, true)));
        let differs = (transport.protocol, &transport.tls) != (first.protocol, &first.tls);
        all.extend(
            differs.then(|| unserved("backend-protocol: another one for a part of the requests", true)),
        );
        let outside = config.backends.get(id).is_some_and(|backend| backend.outside.is_some());
        all.extend(outside.then(|| unserved("a Service with an external name", true)));
    }
    let another = location.for_https.as_ref().is_some_and(|id| id != main);
    all.extend(another.then(|| unserved("another Service for https", true)));
    all.extend(of_policy(&location.policy).into_iter().map(|what| unserved(what, false)));
    all.sort();
    all.dedup();
    all
}

/// Every field is named, so that a new one cannot be forgotten here: what does not stand in `location.rs` goes into the list.
fn of_policy(policy: &Policy) -> Vec<&'static str> {
    let Policy {
        timeouts: _,
        retries: _,
        forwarded_prefix: _,
        host: _,
        connection: _,
        response_headers: _,
        largest_body: _,
        access: _,
        guard: _,
        cors: _,
        limits,
        mirror,
        unlogged: _,
    } = policy;
    let limits = limits.is_some().then_some("limit-rps or limit-rpm");
    limits.into_iter().chain(mirror.is_some().then_some("mirror-target")).collect()
}

/// How a backend's pods are spoken to.
pub(crate) fn transport(id: &BackendId, config: &Config) -> Transport {
    config.backends.get(id).map(|backend| backend.transport.clone()).unwrap_or_default()
}

fn obstacle(transport: &Transport) -> Option<&'static str> {
    let tls = transport.tls.as_ref();
    if transport.protocol == Protocol::Http2 {
        Some("backend-protocol: GRPC or GRPCS")
    } else if tls.is_some_and(|tls| tls.verify.is_some()) {
        Some("proxy-ssl-verify")
    } else if tls.is_some_and(|tls| tls.certificate.is_some()) {
        Some("proxy-ssl-secret")
    } else {
        None
    }
}
