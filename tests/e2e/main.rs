//! End to end: the controller and the filter as they are built, a real Envoy, real pods. Nothing is skipped: without
//! an Envoy these tests fail and say what to run.

mod access_log;
mod admin;
mod admission;
mod backups;
mod bad_manifest;
mod basic_auth;
mod bursts;
mod canary;
mod certgen;
mod certificates;
mod compare;
mod concurrency_limits;
mod configmap;
mod controller_restart;
mod controller_takeover;
mod dashboard;
mod data_plane;
mod data_plane_restart;
mod demo;
mod drop_in;
mod endpoint_change;
mod envoy_module;
mod envoy_restart;
mod error_pages;
mod external_auth;
mod failed_starts;
mod failover;
#[allow(
    dead_code,
    reason = "answers polls of an Envoy on a socket, those of an nginx in other ways, too"
)]
#[path = "../nginx/fake_controller.rs"]
mod fake_controller;
mod filter_panic;
mod firewall;
mod firewall_process;
mod fixture;
mod fleet;
mod grafana;
mod header_lines;
mod header_names;
mod health_checks;
mod hostile_text;
mod https;
mod ipv6;
mod keep_alive;
mod l4_ports;
mod load_balancing;
mod log_format;
mod metrics;
mod mirrors;
mod native_balancing;
mod passthrough;
mod pod_errors;
mod pod_lifecycle;
mod posted_backends;
mod rate_limits;
mod rolling_replacement;
mod route_scopes;
mod routing;
mod scenarios;
mod service_upstream;
mod session_affinity;
#[allow(dead_code, reason = "the planes and tenants of the security rules")]
#[path = "../security/setup.rs"]
mod setup;
mod shutdown;
mod taken_port;
mod task_failures;
mod tracing;
mod two_envoys;
mod unwritable_output;
mod weights;
mod zones;
