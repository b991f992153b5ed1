//! The nginx module in the distribution's nginx, with a configuration by hand: what an operator would write.

mod access_log;
mod backups;
mod balancing;
mod bodies;
mod certificates;
mod client_certificates;
mod configuration;
mod drop_in;
mod endpoint_change;
mod errors;
mod failover;
mod fake_controller;
mod fastcgi;
mod filter_faults;
#[path = "../e2e/fixture.rs"]
mod fixture;
mod gateway;
mod golden;
mod guest;
mod headers;
mod health_checks;
mod ipv6;
mod limits;
mod log_format;
mod lookaround;
mod managed;
mod metrics;
mod mirrors;
mod nginx_features;
mod passthrough;
mod pause;
mod pooled_pod;
mod reload;
mod retries;
mod routing;
#[path = "../e2e/scenarios/mod.rs"]
mod scenarios;
mod server_header;
mod shutdown;
mod streams;
mod tracing;
mod variables;
mod waf_texts;
mod weak_certificate;
mod websockets;
mod zones;
