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
mod server;

use std::collections::BTreeMap;

use serde::Serialize;

pub use backend::{Backend, BackendId, Endpoint, LoadBalance};
pub use server::{Action, Hostname, InvalidHostname, Location, LocationId, PathMatch, Server, ServerName};

/// Everything there is to serve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    /// By name; the catch-all server is always there.
    pub servers: BTreeMap<ServerName, Server>,
    /// Every backend that a location names.
    pub backends: BTreeMap<BackendId, Backend>,
}
