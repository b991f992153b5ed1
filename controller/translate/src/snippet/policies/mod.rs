//! Directives that become policies of routes, as annotations do.
//!
//! ```text
//!   access.rs       allow, deny, satisfy                       lists of networks
//!   connections.rs  keepalive_timeout, send_timeout, ...       connections of clients
//!   bandwidth.rs    limit_rate, limit_rate_after               bandwidth of a response
//!   upstream.rs     proxy_ssl_name, grpc_next_upstream, ...    connections to pods, in place of annotations
//!   proxy_pass.rs   proxy_pass in a location of a server       pods of a path of the same Ingress
//!   tuning.rs       sendfile, resolver, ...                    nothing: they tune nginx
//! ```

pub(super) mod access;
pub(super) mod bandwidth;
pub(super) mod connections;
pub(super) mod proxy_pass;
pub(super) mod tuning;
pub(super) mod upstream;
