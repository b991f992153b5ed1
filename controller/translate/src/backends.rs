//! Services and their ports: what an Ingress backend leads to.

mod resolve;
mod service;

use std::num::NonZeroU8;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use sluice_ir::{BackendId, Transport};

use crate::annotations::Balance;
use crate::claims::Seniority;
use crate::dns_name::ExternalHost;
use crate::{Kind, ObjectKey, ObjectRef};

pub(crate) use resolve::{Resolved, resolve};
pub(crate) use service::service_address;

/// A port as an Ingress names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Port {
    Number(i32),
    Name(String),
    /// The first port that the Service has: what a default backend means.
    First,
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Port::Number(number) => write!(f, "{number}"),
            Port::Name(name) => f.write_str(name),
            Port::First => f.write_str("first"),
        }
    }
}

/// Place where a backend is named; what is wrong with it is reported there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) object: ObjectRef,
    pub(crate) field: String,
    /// Only for a part of somebody else's requests, which the filter picks out.
    pub(crate) as_canary: bool,
}

impl Use {
    /// Only ports without HTTP are named in a ConfigMap.
    fn without_pods(&self) -> &'static str {
        if self.object.kind == Kind::ConfigMap {
            "connections are closed"
        } else {
            "answered with 503"
        }
    }
}

/// Settings with which a location uses a backend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) transport: &'a Transport,
    pub(crate) balance: &'a Balance,
    pub(crate) attempts: NonZeroU8,
    /// The location's requests go there. Copies and questions do not count, as in ingress-nginx.
    pub(crate) routes: bool,
}

/// Precedence of what different objects want of one Service, the first that is there decides (R9 of the security rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Authority {
    /// An Ingress of the Service's namespace that routes to it.
    Namespace,
    /// A flag, or a ConfigMap that a flag names.
    Operator,
    /// Whoever else refers to it: it is served with what the others say, or with the defaults.
    None,
}

impl Authority {
    fn over(origin: &Origin, usage: &Use, routes: bool) -> Self {
        let is_own = |service: &ObjectKey| service.namespace == usage.object.key.namespace;
        match origin {
            _ if usage.object.kind != Kind::Ingress => Authority::Operator,
            Origin::Service(service, _) if routes && is_own(service) => Authority::Namespace,
            Origin::Service(..) | Origin::External(_) => Authority::None,
        }
    }
}

/// Origin of a backend's endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Service(ObjectKey, Port),
    External(ExternalHost),
}

/// Source of a backend, so that it can be resolved again when its endpoints change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) origin: Origin,
    pub(crate) balance: Balance,
    pub(crate) transport: Transport,
    /// The most that any location asks for.
    pub(crate) attempts: NonZeroU8,
    pub(crate) uses: Vec<Use>,
}

/// Reference to a backend, and the settings wanted of it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BackendRef {
    pub(crate) id: BackendId,
    pub(crate) origin: Origin,
    pub(crate) balance: Balance,
    pub(crate) transport: Transport,
    pub(crate) attempts: NonZeroU8,
    pub(crate) usage: Use,
    pub(crate) authority: Authority,
}

/// Tiers of precedence among those that name backends, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PrecedenceTier {
    #[default]
    Flags,
    Ingress(Seniority),
    /// The ConfigMaps of ports without HTTP.
    Ports,
}

/// Precedence of a reference: its tier, and its place among the references of the same object.
pub(crate) type Precedence = (Arc<PrecedenceTier>, usize);

/// References to backends, as they are made. The backend registry resolves those that several name.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// The usual transport to upstreams: it is not named in ids.
    usual: Transport,
    tier: Arc<PrecedenceTier>,
    said: usize,
    pub(crate) backend_refs: Vec<(Precedence, BackendRef)>,
}

impl Uses {
    pub(crate) fn new(usual: &Transport) -> Self {
        Uses {
            usual: usual.clone(),
            ..Uses::default()
        }
    }

    /// Sets the tier of the references that follow.
    pub(crate) fn set_tier(&mut self, tier: PrecedenceTier) {
        (self.tier, self.said) = (Arc::new(tier), 0);
    }

    /// The precedence of the next reference.
    pub(crate) fn next_precedence(&mut self) -> Precedence {
        self.said += 1;
        (Arc::clone(&self.tier), self.said)
    }

    /// Notes that a backend is used and says its id.
    pub(crate) fn name(&mut self, origin: Origin, terms: Terms<'_>, usage: Use) -> BackendId {
        let Terms {
            transport,
            balance,
            attempts,
            routes,
        } = terms;
        let authority = Authority::over(&origin, &usage, routes);
        let usual = match &origin {
            Origin::Service(key, port) => BackendId::new(&key.namespace, &key.name, port),
            Origin::External(host) => host.id(),
        };
        let id = if *transport == self.usual {
            usual
        } else {
            usual.variant(&label(transport))
        };
        let (balance, transport) = (balance.clone(), transport.clone());
        let precedence = self.next_precedence();
        let backend_ref = BackendRef {
            id: id.clone(),
            origin,
            balance,
            transport,
            attempts,
            usage,
            authority,
        };
        self.backend_refs.push((precedence, backend_ref));
        id
    }
}

/// Tells transports apart in ids: the same for the same transport, in every run and on every machine.
fn label(transport: &Transport) -> String {
    let text = serde_json::to_vec(transport).unwrap_or_default();
    Sha256::digest(text)
        .iter()
        .take(8)
        .fold(String::new(), |label, byte| format!("{label}{byte:02x}"))
}
