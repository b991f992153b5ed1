//! The IR to Envoy's protobuf: one function for each resource, one file for each idea.
//!
//! ```text
//!   listener http --RDS--> route configuration http --name--> cluster (a backend) --EDS--> load assignment
//!            \-----ECDS--> extension sluice (the filter)
//!   with many hosts: listener http --SRDS--> scope of a host (its route configuration)
//! ```
//!
//! Pure, and the same bytes for the same input. Protobuf maps have no order: those with several entries are of routes, which are
//! written entry by entry (`proto.rs`).

mod access_log;
mod access_log_service;
mod cel;
mod chain_matcher;
mod client_tls;
mod cluster;
mod compress;
mod encoded;
mod endpoints;
mod filter;
mod filter_chains;
mod format;
mod forwarded;
mod header;
mod header_case;
mod hidden_headers;
mod hsts;
mod listener;
mod local_reply;
mod manager;
mod passthrough;
mod patterns;
mod policy;
mod probe;
mod proto;
mod replaced_headers;
mod request_headers;
mod response_format;
mod route;
mod route_specifier;
mod stream;
mod tls;
mod tracing;
mod upstream_tls;

pub use cluster::cluster;
pub use endpoints::load_assignment;
pub(crate) use filter::FILTERS;
pub use filter::{CAPABILITIES, filter};
pub(crate) use filter_chains::have_same_chains;
pub use listener::{RenderedListener, listener, own_listener, tls_listener};
pub(crate) use probe::{listener as probe_listener, tls as probe_tls_listener};
pub(crate) use route::probe_routes;
pub use route::{Discovery, RouteCache, balances_natively, moves_balancing, routes};
pub use stream::stream;
pub use tls::secret;
pub use tracing::collector;
pub use upstream_tls::named_secret;

/// The name of the listener with TLS; its routes are [`HTTP`](crate::HTTP)'s.
pub const HTTPS: &str = "https";
/// The name of the certificate for hosts without one of their own; [`DEFAULT_CERTIFICATE_FOR`] where clients are asked for theirs.
pub const DEFAULT_CERTIFICATE: &str = "default";
/// The same certificate for hosts that ask clients for theirs, before the name of the authorities. Envoy says that it refuses a certificate
/// when it refuses the authorities beside it, and then gives it to nobody else.
pub const DEFAULT_CERTIFICATE_FOR: &str = "default for ";
// The filter's extension configurations and plugins; the first is its VM's name, too. [`LOOKUP_FILTER`] is that of the other filters that only
// its requests need, too, so all of them run or none does.
pub(crate) use sluice_filter_config::host_contract::{BODILESS_MIRROR_FILTER, MIRROR_FILTER};
pub use sluice_filter_config::host_contract::{FILTER, LOOKUP_FILTER};
/// Ends loops.
const LOOP_FILTER: &str = "envoy.filters.http.cdn_loop";
