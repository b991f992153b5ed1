//! Spans that the controller sends for nginx. Envoy sends its own.

use prometheus::IntCounter;

use super::registry::Registry;

/// Counters of spans. The handles are shared with the registry.
#[derive(Clone)]
pub struct Spans {
    sent: IntCounter,
    dropped: IntCounter,
}

impl Spans {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Spans {
            sent: registry.counter(
                "spans_sent_total",
                "Spans of nginx's requests that the collector has taken",
            )?,
            dropped: registry.counter(
                "spans_dropped_total",
                "Spans of nginx's requests that were dropped: too many waited for the collector, or it refused them",
            )?,
        })
    }

    /// The collector has taken some.
    pub fn sent(&self, spans: usize) {
        self.sent.inc_by(spans as u64);
    }

    /// Some were dropped.
    pub fn dropped(&self, spans: usize) {
        self.dropped.inc_by(spans as u64);
    }
}
