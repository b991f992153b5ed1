//! Probes serve no client: listeners that never listen. One leads to routes, the other one has the filter chains of
//! hosts with TLS, so a running Envoy compiles and checks them as any others, and acknowledges or rejects them.

use prost::Message;
use sluice_ir::Config;

use crate::render::{self, Discovery};
use crate::{PROBE, ResourceType, Settings, TLS_PROBE, Update};

/// Something to try.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Its resources.
    pub update: Update,
    /// Type of the resource whose ACK counts.
    pub kind: ResourceType,
    /// Name of that resource.
    pub name: &'static str,
}

impl Probe {
    /// The routes of a configuration, as they would be published in this way.
    #[must_use]
    pub fn of_routes(candidate: &Config, discovery: Discovery) -> Self {
        let mut update = Update::default();
        update.set(
            ResourceType::Listener,
            PROBE,
            render::probe_listener().encode_to_vec(),
        );
        let routes = render::probe_routes(candidate, discovery);
        update.set(ResourceType::Route, PROBE, routes.encode_to_vec());
        Probe {
            update,
            kind: ResourceType::Route,
            name: PROBE,
        }
    }

    /// Its listener for HTTPS, with the chains of all hosts; `None`: it has none.
    #[must_use]
    pub fn of_tls(candidate: &Config, settings: &Settings, discovery: Discovery) -> Option<Self> {
        let mut update = Update::default();
        let listener = render::probe_tls_listener(candidate, settings, discovery)?;
        update.set(ResourceType::Listener, TLS_PROBE, listener.encode_to_vec());
        Some(Probe {
            update,
            kind: ResourceType::Listener,
            name: TLS_PROBE,
        })
    }
}

impl Probe {
    /// With something else of the same resources.
    #[cfg(debug_assertions)]
    #[must_use]
    pub fn map(self, map: impl FnOnce(Update) -> Update) -> Self {
        Probe {
            update: map(self.update),
            ..self
        }
    }
}
