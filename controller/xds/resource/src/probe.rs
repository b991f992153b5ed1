//! Names of probes: resources that an Envoy is to check, and that no traffic uses.

use crate::{ResourceType, Update};

/// The name of the listener and of its routes.
pub const PROBE: &str = "sluice_probe";
/// The name of the listener with TLS.
pub const TLS_PROBE: &str = "sluice_probe_tls";

/// True if a resource is a probe.
#[must_use]
pub fn is_probe(name: &str) -> bool {
    name == PROBE || name == TLS_PROBE
}

impl Update {
    /// Nothing is tried any more.
    #[must_use]
    pub fn end_of_probes() -> Self {
        let mut update = Update::default();
        update.remove(ResourceType::Listener, PROBE);
        update.remove(ResourceType::Route, PROBE);
        update.remove(ResourceType::Listener, TLS_PROBE);
        update
    }
}
