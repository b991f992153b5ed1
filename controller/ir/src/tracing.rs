//! OpenTelemetry: which requests have a span, and where spans go.

use serde::Serialize;

use crate::{Expression, is_default};

/// Collector of spans, and defaults for all routes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tracing {
    /// Collector: OTLP over gRPC.
    pub collector: Collector,
    /// Tracing of routes that do not set it themselves.
    pub enabled_by_default: bool,
    /// The name that spans have as the service that they are of.
    pub service: String,
    /// Sampler.
    pub sampler: Sampler,
    /// A request that is part of a trace follows the decision at its beginning.
    pub follow_parent: bool,
    /// A trace that a client names is gone on with.
    pub trust_incoming_context: bool,
    /// Name of spans; by default the name of their route.
    #[serde(skip_serializing_if = "is_default")]
    pub operation: Option<Expression>,
    /// Spans of one worker that may wait for the collector; more are dropped.
    pub max_queue_size: u32,
}

impl Tracing {
    /// With ingress-nginx's defaults.
    #[must_use]
    pub fn to(collector: Collector) -> Self {
        Tracing {
            collector,
            enabled_by_default: false,
            service: "nginx".to_owned(),
            sampler: Sampler::Always,
            follow_parent: true,
            trust_incoming_context: true,
            operation: None,
            max_queue_size: 2048,
        }
    }
}

/// The operator's, so it may be anywhere, on this machine, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collector {
    /// Its name, which is looked up again and again, or its address.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// Selection of requests that have a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampler {
    /// All.
    Always,
    /// None.
    Never,
    /// So many of a million.
    Millionths(u32),
}

/// Tracing of one route.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SpanPolicy {
    /// Tracing of the route, if it differs from the default.
    #[serde(skip_serializing_if = "is_default")]
    pub enabled: Option<bool>,
    /// A trace that a client names is gone on with, if that differs from the default. In Envoy the default holds.
    #[serde(skip_serializing_if = "is_default")]
    pub trust_incoming_context: Option<bool>,
    /// Name of its spans.
    #[serde(skip_serializing_if = "is_default")]
    pub operation: Option<String>,
}
