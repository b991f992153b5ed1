//! End to end: the controller and the filter as they are built, a real Envoy, real pods. Nothing is skipped: without
//! an Envoy these tests fail and say what to run.

mod access_log;
mod admin;
mod admission;
mod algorithm;
mod bad_manifest;
mod bursts;
mod canary;
mod care;
mod certificates;
mod ciphers;
mod configmap;
mod controller_restart;
mod crowd;
mod data_plane;
mod demo;
mod drop_in;
mod endpoint_change;
mod envoy_restart;
mod errors;
mod failover;
mod filter_panic;
mod hostile;
mod https;
mod limits;
mod metrics;
mod output;
mod passthrough;
mod passwords;
mod ports;
mod questions;
mod replacement;
mod rewritten;
mod rotation;
mod routing;
mod scopes;
#[allow(dead_code, reason = "the planes and tenants of the security rules")]
#[path = "../security/setup.rs"]
mod setup;
mod shutdown;
mod site;
mod started_again;
mod sticky;
mod streams;
mod successor;
mod tasks;
mod tracing;
mod two_envoys;
mod weights;
mod written;
mod zones;
