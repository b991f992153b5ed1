//! The nginx module in the distribution's nginx, with a configuration by hand: what an operator would write.

mod access_log;
mod again;
mod bodies;
mod certificates;
#[path = "../e2e/ciphers.rs"]
mod ciphers;
mod client_certificates;
mod configuration;
mod controller;
#[path = "../e2e/crowd.rs"]
mod crowd;
mod drop_in;
mod endpoint_change;
mod errors;
mod faults;
mod gateway;
mod golden;
mod guest;
mod headers;
mod limits;
mod managed;
mod metrics;
mod mirrors;
mod native;
mod pause;
mod policies;
mod pooled_pod;
#[path = "../e2e/ports.rs"]
mod ports;
mod reload;
mod retries;
#[path = "../e2e/rewritten.rs"]
mod rewritten;
#[path = "../e2e/rotation.rs"]
mod rotation;
mod routing;
mod shutdown;
#[path = "../e2e/site.rs"]
mod site;
mod streams;
mod variables;
mod weak_certificate;
mod websockets;
#[path = "../e2e/written.rs"]
mod written;
mod zones;
