//! The real parts that end-to-end tests, the demo and the benchmarks are made of.
//!
//! ```text
//!   load, http ---> Envoy (envoy, or a child of sluice) ---> echo pods
//!                     ^ xDS, long-poll                         ^
//!                   sluice <--- watches --- manifests ---------+ names them
//! ```
//!
//! Nothing here but `fake` (hosts of the filter) and `apiserver` (an API server) is a mock: the binaries are the ones that
//! are shipped, the pods are real servers on addresses of
//! their own in 127.0.0.0/8, and everything that takes a port or an address reserves it first (`ports`), so that
//! tests run side by side.

pub mod apiserver;
pub mod artifacts;
#[cfg(feature = "cases")]
pub mod cases;
pub mod certificate;
pub mod connection;
pub mod data_plane;
pub mod dial;
pub mod digest;
pub mod dns;
pub mod dns_server;
pub mod echo;
pub mod envoy;
#[cfg(feature = "cases")]
pub mod fake;
pub mod fastcgi;
pub mod faults;
pub mod fleet;
pub mod hostile;
pub mod http;
pub mod http2;
pub mod installation;
pub mod latency;
pub mod listeners;
pub mod load;
pub mod log;
pub mod manifests;
mod message;
pub mod nginx;
pub mod ports;
pub mod proc;
pub mod process;
#[cfg(feature = "cases")]
pub mod recordings;
mod run_dir;
pub mod script;
pub mod service;
pub mod sluice;
pub mod tally;
pub mod tls;
pub mod unix;
pub mod wait;
pub mod zones;
