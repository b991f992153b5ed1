//! The ways in which pods are spoken to, counted: nginx.conf has an upstream for each.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Backend, KeepAlive, Protocol, Transport, UpstreamTls};

/// Properties that distinguish upstream connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    protocol: Protocol,
    tls: Option<UpstreamTls>,
}

/// Kinds beside plain HTTP, in the order of their numbers.
pub(crate) type Kinds = BTreeSet<Kind>;

/// How many backends there are of each kind, by how long their connections are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transports(BTreeMap<Kind, BTreeMap<KeepAlive, usize>>);

impl Kind {
    pub(crate) fn is_usual(&self) -> bool {
        *self == Kind::default()
    }
}

impl From<&Transport> for Kind {
    fn from(transport: &Transport) -> Self {
        Kind {
            protocol: transport.protocol,
            tls: transport.tls.clone(),
        }
    }
}

impl Transports {
    pub(crate) fn add(&mut self, backend: &Backend) {
        let transport = &backend.transport;
        let alike = self.0.entry(Kind::from(transport.as_ref())).or_default();
        *alike.entry(transport.keep_alive.clone()).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, backend: &Backend) {
        let (kind, kept) = (
            Kind::from(backend.transport.as_ref()),
            &backend.transport.keep_alive,
        );
        let Some(alike) = self.0.get_mut(&kind) else {
            return;
        };
        if let Some(count) = alike.get_mut(kept) {
            *count -= 1;
        }
        alike.retain(|_, count| *count > 0);
        if alike.is_empty() {
            self.0.remove(&kind);
        }
    }

    pub(crate) fn unusual(&self) -> Kinds {
        let kinds = self.0.keys();
        kinds.filter(|kind| !kind.is_usual()).cloned().collect()
    }

    /// How long connections are kept is the operator's word, and the same for all pods.
    pub(crate) fn keep_alive(&self, kind: &Kind) -> KeepAlive {
        let first = self.0.get(kind).and_then(|alike| alike.keys().next());
        first.cloned().unwrap_or_default()
    }

    /// Some connections are kept for another time than by default.
    pub(crate) fn has_own_keep_alive(&self) -> bool {
        let mut kept = self.0.values().flat_map(BTreeMap::keys);
        kept.any(|kept| *kept != KeepAlive::default())
    }
}
