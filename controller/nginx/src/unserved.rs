//! What nginx does not serve, by the name of the annotation that asks for it.

use std::fmt;

use sluice_ir::{Action, BackendId, Config, Location, LocationId, Protocol, Transport};

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

/// Everything that is not served of a location.
pub(crate) fn of(location: &Location, config: &Config) -> Vec<Unserved> {
    let unserved = |what, closes| Unserved { location: location.id.clone(), what, closes };
    let mut all = Vec::new();
    let Action::Forward(main) = &location.action else { return all };
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
    all.extend(location.policy.limits.is_some().then(|| unserved("limit-rps or limit-rpm", false)));
    all.extend(location.policy.mirror.is_some().then(|| unserved("mirror-target", false)));
    all.sort();
    all.dedup();
    all
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
