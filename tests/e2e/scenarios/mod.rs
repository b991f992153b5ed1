//! Scenarios that run on both data planes: the tests of Envoy and those of nginx call them.

pub(crate) mod access_log;
pub(crate) mod backups;
pub(crate) mod body_limits;
pub(crate) mod certificate_rotation;
pub(crate) mod ciphers;
pub(crate) mod concurrency_limits;
pub(crate) mod health_checks;
pub(crate) mod ipv6;
pub(crate) mod l4_ports;
pub(crate) mod large_documents;
pub(crate) mod log_format;
pub(crate) mod lookahead;
pub(crate) mod lookaround;
pub(crate) mod passthrough;
pub(crate) mod rate_limits;
pub(crate) mod response_patterns;
pub(crate) mod response_rewrite;
pub(crate) mod tracing;
pub(crate) mod uploads;
pub(crate) mod upstream_tls;
