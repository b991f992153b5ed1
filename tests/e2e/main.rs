//! End to end: the controller and the filter as they are built, a real Envoy, real pods. Nothing is skipped: without
//! an Envoy these tests fail and say what to run.

mod access_log;
mod admin;
mod admission;
mod algorithm;
mod bad_manifest;
mod canary;
mod care;
mod certificate;
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
mod passthrough;
mod passwords;
mod questions;
mod replacement;
mod routing;
mod shutdown;
mod site;
mod sticky;
mod streams;
mod two_envoys;
mod weights;
mod zones;
