//! The model of everything that a data plane serves, without Kubernetes, Envoy or nginx.
//!
//! ```text
//!   Config --- servers ---> Server (a host name) --- routes ---> HttpRoute ---> Action::Forward ---+
//!          \-- backends --> Backend (a service port) --> endpoints                 <-- BackendId --+
//! ```
//!
//! The translator writes it, the renderers (plugin, xds, nginx) read it. Everything is plain data: ordered,
//! comparable, serialisable for golden files, and already validated. A value that exists here can be served.
//!
//! Absent on purpose: types of Kubernetes, Envoy and nginx.

mod affinity;
mod backend;
mod canary;
mod cidr;
mod compression;
mod destination;
mod direct_response;
mod expires;
mod expression;
mod filter;
mod global;
mod header;
mod header_variant;
mod health_check;
mod host;
mod listener;
mod load_balance;
mod log;
mod path;
mod policy;
mod reason_code;
mod redirect;
mod route;
mod route_match;
mod secret;
mod server;
mod shared;
mod stream;
mod tls;
mod tracing;
mod transport;
pub mod waf;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

pub use affinity::{Affinity, AffinityMode, Cookie, SameSite};
pub use backend::{Backend, BackendId, Endpoint};
pub use canary::{CanaryHeader, CanaryRules, CanaryValue, ValuePattern};
pub use cidr::{Cidr, InvalidCidr};
pub use compression::{Compression, CompressionSettings, NoGzip};
pub use destination::{Destination, WeightedBackend};
pub use direct_response::{
    CaptureSubject, CapturedRedirect, Comparison, Condition, DirectResponse, RequestTest,
    ResponseContent, extension_of_path, extension_of_pattern, path_extension,
};
pub use expires::Expires;
pub use expression::{Expression, ExpressionPart, Variable};
pub use filter::{
    AddedHeader, Filter, HeaderChange, HeaderModification, HeaderValue, STATUSES_WITHOUT_ERROR,
    request_header_changes, response_expires, response_header_changes,
};
pub use global::{
    Blocked, Forwarded, GlobalConfig, HeaderBuffers, Hsts, Http, MAX_LOOPS, SENT_HEADERS, TextMatch,
};
pub use header::{CDN_LOOP, Header, HeaderName, InvalidHeaderName};
pub use header_variant::HeaderVariant;
pub use health_check::{HealthCheck, StatusRange};
pub use host::{Hostname, InvalidHostname, ServerName};
pub use listener::{Listener, ListenerName, ListenerTls};
pub use load_balance::{HealthPolicy, LoadBalance, OutlierDetection};
pub use log::{AccessLog, LogEscaping, LogField, LogPart, LogTarget};
pub use path::{
    PathCondition, PathMatch, PathRegex, PathRewrite, RegexScope, Template, TemplatePart,
};
pub use policy::{
    AllowedOrigin, AllowedOrigins, AuthCache, Authentication, Buffering, ClientLimits,
    ClientTimeouts, ConnectionLimit, Cors, ErrorPages, ExternalAuth, FastCgi, Fraction, IpAccess,
    Mirror, MirrorPath, PasswordAuth, PasswordScheme, Policy, Rate, Replacement, ResponseRewrite,
    Retries, RetryOn, Substitution, SubstitutionPart, Timeouts, UpstreamHeader, UserFile,
};
pub use reason_code::{ConditionType, ReasonCode};
pub use redirect::{HttpsRedirect, Redirect, RedirectTo, Scheme};
pub use route::{Action, Canary, ErrorRequest, HttpRoute, RouteId};
pub use route_match::{HeaderMatch, MatchPrecedence, QueryMatch, RouteMatch, ValueMatch};
pub use server::{ConnectionSettings, Server};
pub use shared::{Changed, Shared, SharedMap, changed};

pub use secret::{SecretId, SecretValue, Sensitive};
pub use sluice_filter_config::host_contract::Copies;
pub use stream::{L4Protocol, Stream, StreamPort};
pub use tls::{
    CLIENT_CERTIFICATE_HEADERS, ClientCertificates, ClientValidation, HostTls, RefusalPage,
    ServerTls, VerifyClient,
};
pub use tracing::{Collector, Sampler, SpanPolicy, Tracing};
pub use transport::{KeepAlive, Protocol, TlsVersions, Transport, UpstreamTls, Verify};
pub use waf::Waf;

/// Defaults are not serialised, so that golden files show only what differs.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Everything there is to serve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    /// Settings of all requests.
    #[serde(skip_serializing_if = "GlobalConfig::is_default")]
    pub global: GlobalConfig,
    /// By name; the catch-all server is always there.
    pub servers: Shared<ServerName, Server>,
    /// Listeners beside those for http and https, which serve `servers`.
    #[serde(skip_serializing_if = "is_default")]
    pub listeners: BTreeMap<ListenerName, Listener>,
    /// Every backend that a route names.
    pub backends: Shared<BackendId, Backend>,
    /// Ports beside those for HTTP.
    #[serde(skip_serializing_if = "is_default")]
    pub streams: BTreeMap<StreamPort, Stream>,
    /// Hosts that are not like all others in a handshake, by the name that the client asks for.
    #[serde(skip_serializing_if = "is_default")]
    pub tls: SharedMap<ServerName, HostTls>,
    /// Hosts whose TLS ends at the pods of a backend, by the name that the client asks for. What `tls` says of them holds only
    /// where that cannot be done.
    #[serde(skip_serializing_if = "is_default")]
    pub passthrough: SharedMap<Hostname, BackendId>,
    /// Certificate of hosts without one of their own; `None`: a generated one.
    #[serde(skip_serializing_if = "is_default")]
    pub default_certificate: Option<SecretId>,
    /// Every certificate that something names.
    #[serde(skip_serializing_if = "is_default")]
    pub secrets: SharedMap<SecretId, SecretValue>,
    /// Every file of users that something names.
    #[serde(skip_serializing_if = "is_default")]
    pub users: SharedMap<SecretId, UserFile>,
}

impl Config {
    /// Servers of all listeners.
    pub fn all_servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        let others = self.listeners.values();
        let others = others.flat_map(|listener| listener.servers.values());
        self.servers.values().chain(others)
    }

    /// Routes of all listeners.
    pub fn routes(&self) -> impl Iterator<Item = &HttpRoute> {
        self.all_servers().flat_map(|server| &server.routes)
    }

    /// Configuration of one listener, as if it were the only one.
    #[must_use]
    pub fn on_listener(&self, listener: &Listener) -> Config {
        let tls = listener.tls.clone().unwrap_or_default();
        Config {
            servers: listener.servers.clone(),
            listeners: BTreeMap::new(),
            tls: tls.hosts,
            default_certificate: tls.default_certificate,
            passthrough: SharedMap::default(),
            ..self.clone()
        }
    }

    /// The backend that a backend is a variant of, or itself.
    #[must_use]
    pub fn without_variant<'a>(&'a self, id: &'a BackendId) -> &'a BackendId {
        let backend = self.backends.get(id);
        backend
            .and_then(|backend| backend.variant_of.as_ref())
            .unwrap_or(id)
    }

    /// Error services of all routes.
    #[must_use]
    pub fn error_services(&self) -> BTreeSet<&BackendId> {
        self.routes()
            .filter_map(|route| route.error_pages.as_ref()?.backend.as_ref())
            .collect()
    }

    /// Mirror targets of all routes.
    #[must_use]
    pub fn mirrors(&self) -> BTreeSet<&BackendId> {
        self.routes()
            .flat_map(|route| &route.policy.mirrors)
            .map(|mirror| &mirror.backend)
            .collect()
    }

    /// This configuration, with the routes and backends that only the other one has: what must be known while one
    /// becomes the other.
    #[must_use]
    pub fn with_routes_of(&self, other: &Config) -> Config {
        let mut both = self.clone();
        let in_listeners = self.listeners.values();
        let in_listeners = in_listeners.flat_map(|listener| listener.servers.values());
        let known = in_listeners.flat_map(|server| decided(server)).collect();
        add_routes(&mut both.servers, &other.servers, &known);
        for (name, listener) in &other.listeners {
            let now = both.listeners.entry(name.clone());
            let now = now.or_insert_with(|| Listener {
                servers: Shared::default(),
                ..listener.clone()
            });
            let known = self.all_servers().flat_map(|server| decided(server));
            let known = known.collect();
            add_routes(&mut now.servers, &listener.servers, &known);
        }
        for Changed { name, before, now } in changed(&other.backends, &self.backends) {
            if let (Some(backend), None) = (before, now) {
                both.backends.insert(name.clone(), Arc::clone(backend));
            }
        }
        both
    }
    /// Makes these backends those of the other configuration.
    pub fn take_backends_of<'a>(
        &mut self,
        other: &Config,
        ids: impl IntoIterator<Item = &'a BackendId>,
    ) {
        for id in ids {
            match other.backends.get(id) {
                Some(backend) => self.backends.insert(id.clone(), Arc::clone(backend)),
                None => self.backends.remove(id),
            };
        }
    }
}

/// Routes that know where their requests go. A redirect does not need the backends: until it takes over, its requests go where they went.
fn decided(server: &Server) -> impl Iterator<Item = &RouteId> {
    let routes = server.routes.iter();
    let decided = routes.filter(|route| !matches!(route.action, Action::Redirect(_)));
    decided.map(|route| &route.id)
}

/// Adds the routes that are neither known nor in a server that both have.
fn add_routes(
    to: &mut Shared<ServerName, Server>,
    from: &Shared<ServerName, Server>,
    known: &BTreeSet<&RouteId>,
) {
    let now = to.clone();
    let others = || changed(from, &now);
    let of_others = others().flat_map(|server| server.now);
    let decided: BTreeSet<&RouteId> = of_others.flat_map(|server| decided(server)).collect();
    for server in others() {
        let routes = server.before.into_iter().flat_map(|server| &server.routes);
        let is_new =
            |route: &&HttpRoute| !known.contains(&route.id) && !decided.contains(&route.id);
        let new: Vec<HttpRoute> = routes.filter(is_new).cloned().collect();
        if !new.is_empty() {
            let server = to.entry(server.name.clone()).or_default();
            Arc::make_mut(server).routes.extend(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarding(path: &str, service: &str) -> Config {
        let (name, id) = (
            ServerName::CatchAll,
            BackendId::new(format!("default/{service}/80")),
        );
        let path = PathMatch::Exact(path.to_owned());
        let route = HttpRoute::new(&name, path, Action::to(id.clone()), Arc::default());
        let mut config = Config::default();
        config.servers.insert(
            name,
            Arc::new(Server {
                routes: vec![route],
                ..Server::default()
            }),
        );
        config.backends.insert(id, Arc::default());
        config
    }

    #[test]
    fn while_one_becomes_the_other_both_are_known_and_the_new_one_decides() {
        let both = forwarding("/a", "new").with_routes_of(&forwarding("/a", "old"));
        let actions: Vec<_> = both.routes().map(|route| route.action.clone()).collect();
        assert_eq!(actions, [Action::to(BackendId::new("default/new/80"))]);
        assert_eq!(both.backends.len(), 2);
        assert_eq!(
            forwarding("/a", "x")
                .with_routes_of(&forwarding("/b", "x"))
                .routes()
                .count(),
            2
        );
    }

    #[test]
    fn server_that_both_have_is_not_copied() {
        let mut now = forwarding("/a", "x");
        let before = now.clone();
        let host = ServerName::parse("new.test").unwrap_or(ServerName::CatchAll);
        now.servers.insert(host, Arc::default());
        let both = now.with_routes_of(&before);
        let [own, of_both] = [&now, &both].map(|config| &config.servers[&ServerName::CatchAll]);
        assert!(Arc::ptr_eq(own, of_both));
        assert_eq!(both, now);
    }
}
