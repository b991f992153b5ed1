//! What Sluice serves, in its own words.
//!
//! ```text
//!   Config --- servers ---> Server (a host name) --- locations ---> Location --> Action::Forward --+
//!          \-- backends --> Backend (a service port) --> endpoints                 <-- BackendId --+
//! ```
//!
//! The translator writes it, the renderers (plugin, xds, nginx) read it. Everything is plain data: ordered,
//! comparable, serialisable for golden files, and already validated. A value that exists here can be served.
//!
//! Absent on purpose: every noun of Kubernetes, Envoy and nginx.

mod backend;
mod balance;
mod cidr;
mod edge;
mod expression;
mod path;
mod policy;
mod redirect;
mod secret;
mod server;
mod transport;

use std::collections::BTreeMap;

use serde::Serialize;

pub use backend::{Backend, BackendId, Endpoint, Outside};
pub use balance::{
    Affinity, AffinityMode, CanaryHeader, CanaryRules, CanaryValue, Cookie, LoadBalance, SameSite,
};
pub use cidr::Cidr;
pub use edge::{Edge, Forwarded, Header, Hsts, Http};
pub use expression::{Expression, Part, Variable};
pub use path::{PathMatch, PathRegex, Piece, Template};
pub use policy::{
    Access, Cors, ErrorPages, Limits, Mirror, Origin, Origins, Place, Policy, Rate, Retries, RetryOn,
    Timeouts,
};
pub use redirect::{HttpsRedirect, Redirect, RedirectTo};
pub use server::{
    Action, Canary, ErrorRequest, Hostname, InvalidHostname, Location, LocationId, Server, ServerName,
};

pub use secret::{SecretId, SecretValue, Sensitive};
pub use transport::{Protocol, TlsVersions, Transport, UpstreamTls, Verify};

/// What is as usual is not shown: golden files show what is not.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Everything there is to serve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    /// What holds for all of it.
    #[serde(skip_serializing_if = "is_default")]
    pub edge: Edge,
    /// By name; the catch-all server is always there.
    pub servers: BTreeMap<ServerName, Server>,
    /// Every backend that a location names.
    pub backends: BTreeMap<BackendId, Backend>,
    /// Every certificate that something names.
    #[serde(skip_serializing_if = "is_default")]
    pub secrets: BTreeMap<SecretId, SecretValue>,
}
