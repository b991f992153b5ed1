//! The IR to Envoy's protobuf: one function for each resource, one file for each idea.
//!
//! ```text
//!   listener http --RDS--> route configuration http --name--> cluster (a backend) --EDS--> load assignment
//!            \-----ECDS--> extension sluice (the filter)
//!   with many hosts: listener http --SRDS--> scope of a host (its route configuration)
//! ```
//!
//! Pure, and the same bytes for the same input. Protobuf maps have no order, so none here has a second entry.

mod access_log;
mod cluster;
mod compress;
mod endpoints;
mod filter;
mod format;
mod forwarded;
mod handshake;
mod header;
mod listener;
mod manager;
mod passthrough;
mod policy;
mod requests;
mod route;
mod route_discovery;
mod stream;
mod tls;
mod tracing;
mod upstream_tls;
mod wire;

pub use cluster::cluster;
pub use endpoints::load_assignment;
pub use filter::{CAPABILITIES, filter, scope_filter};
pub use listener::{listener, tls_listener};
pub use route::{Discovery, Routes, routes};
pub use stream::stream;
pub use tls::secret;
pub use tracing::collector;
pub use upstream_tls::named_secret;

/// The name of the listener and of its routes.
pub const HTTP: &str = "http";
/// The name of the listener with TLS; its routes are [`HTTP`]'s.
pub const HTTPS: &str = "https";
/// The name of the certificate for hosts without one of their own.
pub const DEFAULT_CERTIFICATE: &str = "default";
/// The name of the filter: of its extension configuration, its plugin and its VM.
pub const FILTER: &str = "sluice";
/// The name of the same filter where it names the scope of a request.
pub const SCOPE_FILTER: &str = "sluice.scope";
