//! Settings of renderers, beside the IR.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

// The Envoy that Sluice configures gets the choice of the filter in hidden headers.
pub(crate) use sluice_filter_config::host_contract::{
    EJECTIONS_STATE, ENCODED_ROUTE, GROUP_HEADER, LIMITED_HEADER, MOST_GROUPS, PATTERN_HEADER,
    SCOPE_HEADER,
};
pub use sluice_filter_config::host_contract::{
    MANAGED_BACKEND_HEADER as BACKEND_HEADER, MANAGED_ENDPOINT_HEADER as ENDPOINT_HEADER,
    OTHER_HOSTS, PATH_HEADER,
};

/// The request header with what a client's certificate was checked against. Clients cannot send it, pods do not see it.
pub(crate) const TRUST_HEADER: &str = "x-sluice-trust";
/// The subject of a client's certificate, for the routes; requests cannot bring their own.
pub(crate) const SUBJECT_HEADER: &str = "x-sluice-subject";
/// Suffix of the host of requests to error services. No Ingress can have a host that ends so.
pub(crate) const ERROR_HOST: &str = "sluice-errors-";
/// The challenge to a client (`WWW-Authenticate`), on the way to the error service of the answer that asked.
pub(crate) const CHALLENGE_HEADER: &str = "x-sluice-challenge";
/// The request header with the error service that is asked. Clients cannot send it.
pub(crate) const ERROR_HEADER: &str = "x-sluice-error";
/// The route that answers hosts with a port that is none.
pub(crate) const INVALID_PORT_ROUTE: &str = "sluice.invalid-port";
/// The route that answers TRACE.
pub(crate) const TRACE_ROUTE: &str = "sluice.trace";
/// Route of requests on a connection that began with the name of another server.
pub(crate) const MISDIRECTED_ROUTE: &str = "sluice.misdirected";
/// In a request's metadata: its route, where the route is an error service's by the time that it is logged.
pub const ROUTE_KEY: &str = "route";
/// Access log field for the time to connect to an upstream.
pub const CONNECTING_TAG: &str = "connecting";
/// Access log field for endpoints that the filter has ejected.
pub const EJECTIONS_TAG: &str = "ejections";
/// The cluster, over HTTP/2, that Envoy's own configuration comes from.
pub const XDS_CLUSTER: &str = "sluice_xds";
/// The cluster, over HTTP/2, that is asked who may come in. One of its own: waiting there does not hold configuration up.
pub(crate) const AUTH_CLUSTER: &str = "sluice_auth";
/// The cluster, over HTTP/2, of the web application firewall. One of its own: bodies that wait there hold nobody else up.
pub(crate) const FIREWALL_CLUSTER: &str = "sluice_firewall";
/// The cluster, over HTTP/2, that spans go to.
pub(crate) const TRACES_CLUSTER: &str = "sluice_otlp";
/// Headers of an answer, each with a number behind it: cookies of who decided, the client's only if the pod is content.
pub const COOKIE_HEADER: &str = "x-sluice-set-cookie-";
/// As many as there are; more are dropped.
pub const MOST_COOKIES: usize = 8;
/// Metadata of an authorization request: the route that takes the request ...
pub const ROUTE_METADATA: &str = "sluice-route";
/// ... and the address of the client;
pub const CLIENT_METADATA: &str = "sluice-client";
/// where a service is asked about a client certificate, the result of its verification ...
pub const VERIFY_METADATA: &str = "sluice-client-verify";
/// ... its subject ...
pub const SUBJECT_METADATA: &str = "sluice-client-subject";
/// ... and that of its issuer.
pub const ISSUER_METADATA: &str = "sluice-client-issuer";
/// In the metadata of an authorized request: the URL that its client is sent to if the pod answers 401.
pub const SIGN_IN_KEY: &str = "sign_in";
/// Metadata of a request to the firewall: its rules ...
pub const RULES_METADATA: &str = "sluice-rules";
/// ... the id of the request in logs ...
pub const TRANSACTION_METADATA: &str = "sluice-transaction";
/// ... the address that the client has connected to ...
pub const SERVER_METADATA: &str = "sluice-server";
/// ... and the version of HTTP.
pub const PROTOCOL_METADATA: &str = "sluice-protocol";
/// Name of the filter as a module of Envoy, which looks for `lib<name>.so`.
pub const MODULE_NAME: &str = "sluice_envoy";
/// The cluster, over HTTP/1, that the filter calls for its log.
pub const CONTROLLER_CLUSTER: &str = "sluice_controller";

/// Up to here Envoy needs less than 20 ms for a table of all hosts. From here on it is worth three microseconds of each request,
/// and seven for a host without an exact name, that Envoy builds one host only.
pub const SCOPES_FROM: usize = 1000;

/// Settings for rendering Envoy's resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Addresses of the `http` listener; with none there is no listener.
    pub http: Vec<SocketAddr>,
    /// The `https` listener; `None` when there is none.
    pub https: Option<Https>,
    /// The filter's wasm.
    pub filter: FilterCode,
    /// The filter's plugin configuration.
    pub bootstrap_config: Vec<u8>,
    /// Writes each request to Envoy's standard output.
    pub access_log: bool,
    /// Reports each request to the controller: the access log service of `sluice-xds-server`.
    pub request_log: bool,
    /// From so many hosts on, Envoy learns of each by itself.
    pub scopes_from: usize,
}

impl Settings {
    /// The addresses of clients with another port.
    pub(crate) fn on_port(&self, port: u16) -> Vec<SocketAddr> {
        let ips = self.http.iter().map(SocketAddr::ip);
        ips.map(|ip| SocketAddr::new(ip, port)).collect()
    }

    /// The defaults: no listener, no access log.
    #[must_use]
    pub fn new(filter: FilterCode, bootstrap_config: Vec<u8>) -> Self {
        Settings {
            http: Vec::new(),
            https: None,
            filter,
            bootstrap_config,
            access_log: false,
            request_log: false,
            scopes_from: SCOPES_FROM,
        }
    }
}

/// Source of the filter's wasm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterCode {
    /// A file on Envoy's machine.
    File(PathBuf),
    /// The wasm itself, sent along.
    Inline(Vec<u8>),
}

/// Settings of the `https` listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Https {
    /// Its address.
    pub address: SocketAddr,
    /// Certificate of hosts without one of their own.
    pub default_certificate: Certificate,
}

/// A certificate chain and its private key, both PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate, and the intermediate ones behind it.
    pub chain: String,
    /// The private key.
    pub key: String,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("chain", &self.chain)
            .field("key", &"[redacted]")
            .finish()
    }
}
