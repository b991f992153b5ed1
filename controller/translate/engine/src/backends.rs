//! Services and their ports: what a backend of a route leads to.

mod resolve;
mod service;

use std::num::NonZeroU8;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use sluice_ir::{Affinity, BackendId, HealthPolicy, LoadBalance, Transport};

use crate::age::Seniority;
use crate::external_host::ExternalHost;
use crate::ids;
use crate::service_port::Port;
use crate::{Kind, ObjectKey, ObjectRef};

pub(crate) use resolve::{Resolved, resolve};
pub use service::service_address;

/// Settings for the choice among the endpoints of a Service. Of several references to it, the first decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// The algorithm.
    pub load_balance: LoadBalance,
    /// Session affinity.
    pub affinity: Option<Box<Affinity>>,
    /// Outlier detection.
    pub health: HealthPolicy,
    /// True if endpoints near the data plane come first.
    pub prefer_zone: bool,
    /// True if the address of the Service itself is the only endpoint.
    pub service_upstream: bool,
}

/// The field of an object that names a backend; what is wrong with the backend is reported there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceSite {
    /// The object.
    pub object: ObjectRef,
    /// Its field.
    pub field: String,
}

impl ReferenceSite {
    /// Consequence of missing endpoints. Only TCP and UDP ports are named in a ConfigMap.
    fn without_endpoints(&self) -> &'static str {
        if self.object.kind == Kind::ConfigMap {
            "connections are closed"
        } else {
            "answered with 503"
        }
    }
}

/// Settings with which a route uses a backend.
#[derive(Clone, Copy, Debug)]
pub struct BackendSettings<'a> {
    /// The transport to its endpoints.
    pub transport: &'a Transport,
    /// The choice among its endpoints.
    pub balance: &'a Balance,
    /// Endpoints that are tried for one request, at most.
    pub attempts: NonZeroU8,
    /// Traffic that it gets by this reference.
    pub traffic: Traffic,
}

/// Traffic of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Requests of routes, of which canaries take a part.
    Routes,
    /// TLS connections of a host, as they are.
    Connections,
    /// Copies of requests, questions of authentication, connections of TCP and UDP ports. As in ingress-nginx, such a reference
    /// decides nothing about the backend.
    Other,
}

/// Authority of a reference over the settings of a Service: the highest that there is decides (R9 of the security rules).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    /// An object of the Service's namespace that routes to it.
    Namespace,
    /// A flag, or a ConfigMap that a flag names.
    Operator,
    /// Any other object that refers to it: the settings of the others hold, or the defaults.
    None,
}

impl Authority {
    fn over(
        origin: &BackendSource,
        tier: &PrecedenceTier,
        site: &ReferenceSite,
        traffic: Traffic,
    ) -> Self {
        let is_own = |service: &ObjectKey| service.namespace == site.object.key.namespace;
        match (tier, origin) {
            (PrecedenceTier::Flags | PrecedenceTier::Ports, _) => Authority::Operator,
            (PrecedenceTier::Object(_), BackendSource::Service(service, _))
                if traffic != Traffic::Other && is_own(service) =>
            {
                Authority::Namespace
            }
            (PrecedenceTier::Object(_), _) => Authority::None,
        }
    }
}

/// Source of a backend's endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendSource {
    /// A port of a Service.
    Service(ObjectKey, Port),
    /// A host outside of the cluster.
    External(ExternalHost),
}

/// Source of a backend, from which it is resolved again when its endpoints change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) origin: BackendSource,
    pub(crate) balance: Arc<Balance>,
    /// With the most attempts that any route asks for.
    pub(crate) spoken: Spoken,
    pub(crate) sites: Vec<ReferenceSite>,
}

/// The way in which requests reach the endpoints of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// The transport to them.
    pub transport: Arc<Transport>,
    /// Endpoints that are tried for one request, at most.
    pub attempts: NonZeroU8,
}

/// Reference to a backend, and the settings wanted of it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendRef {
    /// Id of the backend.
    pub id: BackendId,
    /// Source of its endpoints.
    pub origin: BackendSource,
    /// The choice among its endpoints.
    pub balance: Arc<Balance>,
    /// The way in which they are spoken to; `None`: a canary's, as the backends that it is a canary of.
    pub spoken: Option<Spoken>,
    /// Traffic that it gets by this reference.
    pub traffic: Traffic,
    /// The field that names it.
    pub site: ReferenceSite,
    /// Authority of the reference over the settings.
    pub authority: Authority,
}

/// Tiers of precedence among references to backends, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrecedenceTier {
    /// Flags.
    #[default]
    Flags,
    /// Objects that have routes, the oldest first.
    Object(Seniority),
    /// ConfigMaps of TCP and UDP ports.
    Ports,
}

/// Precedence of a reference: its tier, and its place among the references of the same object.
pub type ReferencePrecedence = (Arc<PrecedenceTier>, usize);

/// References to backends, as they are made. The backend registry resolves those that several name.
#[derive(Debug, Default)]
pub struct BackendRefs {
    /// The default transport to upstreams, which has no label in ids.
    default_transport: Transport,
    tier: Arc<PrecedenceTier>,
    /// Position among the references of the tier.
    position: usize,
    refs: Vec<(ReferencePrecedence, BackendRef)>,
}

impl BackendRefs {
    /// No references yet.
    #[must_use]
    pub fn new(default_transport: &Transport) -> Self {
        BackendRefs {
            default_transport: default_transport.clone(),
            ..BackendRefs::default()
        }
    }

    /// The references so far.
    #[must_use]
    pub fn refs(&self) -> &[(ReferencePrecedence, BackendRef)] {
        &self.refs
    }

    /// The references, for the backend registry.
    #[must_use]
    pub fn into_refs(self) -> Vec<(ReferencePrecedence, BackendRef)> {
        self.refs
    }

    /// Sets the tier of the references that follow.
    pub fn set_tier(&mut self, tier: PrecedenceTier) {
        (self.tier, self.position) = (Arc::new(tier), 0);
    }

    /// The precedence of the next reference.
    pub fn next_precedence(&mut self) -> ReferencePrecedence {
        self.position += 1;
        (Arc::clone(&self.tier), self.position)
    }

    /// Adds a reference to a backend, and returns the id of the backend.
    pub fn add(
        &mut self,
        origin: BackendSource,
        settings: BackendSettings<'_>,
        site: ReferenceSite,
    ) -> BackendId {
        let BackendSettings {
            transport,
            balance,
            attempts,
            traffic,
        } = settings;
        let plain = plain(&origin);
        let id = if *transport == self.default_transport {
            plain
        } else {
            ids::variant(&plain, &label(transport))
        };
        self.push(BackendRef {
            id: id.clone(),
            authority: Authority::over(&origin, &self.tier, &site, traffic),
            origin,
            balance: Arc::new(balance.clone()),
            spoken: Some(Spoken {
                transport: Arc::new(transport.clone()),
                attempts,
            }),
            traffic,
            site,
        });
        id
    }

    /// Adds a reference by a canary, and returns the port of the Service. Its backends are spoken to as those that it is a canary of.
    pub fn add_canary(
        &mut self,
        origin: BackendSource,
        balance: &Balance,
        site: ReferenceSite,
    ) -> BackendId {
        let (port, traffic) = (plain(&origin), Traffic::Routes);
        self.push(BackendRef {
            id: port.clone(),
            authority: Authority::over(&origin, &self.tier, &site, traffic),
            origin,
            balance: Arc::new(balance.clone()),
            spoken: None,
            traffic,
            site,
        });
        port
    }

    fn push(&mut self, backend_ref: BackendRef) {
        let precedence = self.next_precedence();
        self.refs.push((precedence, backend_ref));
    }
}

/// Id with the default transport.
fn plain(origin: &BackendSource) -> BackendId {
    match origin {
        BackendSource::Service(key, port) => ids::service_backend(key, port),
        BackendSource::External(host) => host.id(),
    }
}

/// Label of a transport in ids: the same for the same transport, in every run and on every machine.
fn label(transport: &Transport) -> String {
    let text = serde_json::to_vec(transport).unwrap_or_default();
    Sha256::digest(text)
        .iter()
        .take(8)
        .fold(String::new(), |label, byte| format!("{label}{byte:02x}"))
}
