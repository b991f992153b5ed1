//! What nginx does not serve, by the name of the annotation that asks for it.

use std::borrow::Cow;
use std::fmt;

use sluice_ir::{
    Action, BackendId, ClientCertificates, Demand, Location, LocationId, Policy, Protocol, SecretId,
    ServerName, StreamPort, UpstreamTls,
};

use crate::server::{Host, Scene};
use crate::tls::ClientTls;
use crate::upstream::transport;
use crate::{errors, kong, mirror};

/// What something belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A location.
    Location(LocationId),
    /// All hosts: a key of the operator's ConfigMap.
    Edge(&'static str),
    /// A port without HTTP.
    Port(StreamPort),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Location(location) => write!(f, "location {}", location.as_str()),
            Part::Edge(key) => write!(f, "data.{key}"),
            Part::Port(port) => write!(f, "data.{}", port.number),
        }
    }
}

/// Something that is not as its owner wrote it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unserved {
    /// Of what.
    pub part: Part,
    /// What it asks for.
    pub what: Cow<'static, str>,
    /// Without it nothing must be served: the location answers 503, and every request gets 403 where it is for all hosts.
    pub closes: bool,
}

impl Unserved {
    /// Why.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.part {
            Part::Port(_) => format!("expected {}", self.what),
            Part::Location(_) | Part::Edge(_) => format!("{}: not served by the nginx data plane", self.what),
        }
    }

    /// What happens instead.
    #[must_use]
    pub fn consequence(&self) -> &'static str {
        match (&self.part, self.closes) {
            (Part::Location(_), true) => "the location answers 503",
            (Part::Location(_), false) => "the location is served without",
            (Part::Edge(_), true) => "every request answers 403",
            (Part::Edge(_), false) => "everything is served without",
            (Part::Port(_), _) => "port not served",
        }
    }
}

impl fmt::Display for Unserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.part, self.reason(), self.consequence())
    }
}

/// Everything that is not served of a location of this host.
pub(crate) fn of(location: &Location, host: Host<'_>, scene: Scene<'_>) -> Vec<Unserved> {
    let mut all = Vec::new();
    let part = || Part::Location(location.id.clone());
    let mut add = |what, closes| all.push(Unserved { part: part(), what: Cow::Borrowed(what), closes });
    // Who may come in is asked for redirects, too.
    if let Some(what) = host.server.clients.as_ref().and_then(|clients| of_clients(clients, host, scene)) {
        add(what, true);
    }
    if matches!(host.name, ServerName::Exact(name) if scene.config.passthrough.contains_key(name)) {
        add("ssl-passthrough", false);
    }
    if let Action::Forward(main) = &location.action {
        of_backends(main, location, scene).into_iter().for_each(|what| add(what, true));
        if location.policy.mirror.is_some() && mirror::of(location, scene.config).is_none() {
            add("mirror-target: a Service without an address of its own", false);
        } else if mirror::needs_dns(location, scene.config) && scene.settings.resolvers.is_empty() {
            add("mirror-target: the machine has no resolver, so there are no copies", false);
        }
        kong::unserved(main, location, scene).into_iter().for_each(|what| add(what, false));
        let outside = scene.config.backends.get(main).is_some_and(|backend| backend.outside.is_some());
        if outside && !location.canaries.is_empty() {
            add("a canary of a Service with an external name", false);
        }
        named(&location.policy);
    }
    let service = location.error_pages.as_ref().and_then(|pages| pages.backend.as_ref());
    if service.is_some_and(|id| errors::is_unusual(id, scene.config)) {
        add("custom-http-errors: an error service that is not spoken to with plain http", false);
    }
    all.sort();
    all.dedup();
    all
}

fn of_clients(clients: &ClientCertificates, host: Host<'_>, scene: Scene<'_>) -> Option<&'static str> {
    let asked = clients.demand != Demand::Off;
    if asked && *host.name == ServerName::CatchAll {
        Some("auth-tls-secret without a host")
    } else if asked && ClientTls::of(clients, scene.config, scene.settings).is_none() {
        Some("auth-tls-secret: the Secret is not there")
    } else {
        None
    }
}

/// What would be another thing than its owner meant; so it is closed.
fn of_backends(main: &BackendId, location: &Location, scene: Scene<'_>) -> Vec<&'static str> {
    let Scene { config, settings, .. } = scene;
    let canaries = location.canaries.iter().map(|canary| &canary.backend);
    let first = transport(main, config);
    let mut all = Vec::new();
    for id in std::iter::once(main).chain(canaries) {
        let transport = transport(id, config);
        all.extend(transport.tls.as_ref().and_then(|tls| obstacle(tls, scene)));
        if (transport.protocol, &transport.tls) != (first.protocol, &first.tls) {
            all.push("backend-protocol: another one for a part of the requests");
        }
        let outside = config.backends.get(id).is_some_and(|backend| backend.outside.is_some());
        if outside && settings.resolvers.is_empty() {
            all.push("a Service with an external name: the machine has no resolver");
        }
        if outside && id != main {
            all.push("a Service with an external name for a part of the requests");
        }
    }
    all.extend(location.for_https.as_ref().and_then(|id| of_https(main, id, scene)));
    all
}

/// The same pods can be spoken to as the client speaks; the filter does not know of others.
fn of_https(main: &BackendId, id: &BackendId, scene: Scene<'_>) -> Option<&'static str> {
    let (plain, secure) = (transport(main, scene.config), transport(id, scene.config));
    let same_pods = id.service_port() == main.service_port();
    let as_the_client = plain.tls.is_none() && secure.tls.is_some();
    let is_http = plain.protocol == Protocol::Http1 && secure.protocol == Protocol::Http1;
    if !(id == main || same_pods && as_the_client && is_http) {
        return Some("another Service for https");
    }
    secure.tls.as_ref().and_then(|tls| obstacle(tls, scene))
}

fn obstacle(tls: &UpstreamTls, scene: Scene<'_>) -> Option<&'static str> {
    let is_missing = |id: &SecretId| !scene.config.secrets.contains_key(id);
    let verify = tls.verify.as_ref();
    let sent = tls.server_name.as_ref();
    if tls.certificate.as_ref().is_some_and(is_missing) {
        Some("proxy-ssl-secret: the Secret is not there")
    } else if verify.is_some_and(|verify| is_missing(&verify.authorities)) {
        Some("proxy-ssl-verify: the Secret is not there")
    } else if verify.is_some_and(|verify| sent.is_some_and(|sent| *sent != verify.name)) {
        Some("proxy-ssl-name: another name in the certificate than the one that is sent")
    } else {
        None
    }
}

/// Every field is named, so that a new one cannot be forgotten here: each stands in `forward.rs` or in `of`.
fn named(policy: &Policy) {
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
        limits: _,
        rate: _,
        rate_after: _,
        http10: _,
        buffering: _,
        rewritten: _,
        mirror: _,
        // In `location.rs`.
        unlogged: _,
        // Reported with their annotations: nginx has no spans.
        traced: _,
    } = policy;
}
