//! A service port and the pods behind it.

use std::fmt;
use std::net::SocketAddr;
use std::num::{NonZeroU8, NonZeroU16};
use std::sync::Arc;

use serde::Serialize;

use crate::{Affinity, HealthPolicy, LoadBalance, Transport, is_default};

/// Id of a backend, unique in a configuration. Data planes, the filter and metrics carry it; only the input that composed it
/// knows its parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BackendId(Arc<str>);

impl BackendId {
    /// An id as an input composes it.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        BackendId(text.into())
    }

    /// The id as the data plane and the filter see it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The pods behind one service port, or the addresses of a host outside of the cluster, and how to choose among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backend {
    /// The backend that this one is a variant of: the same endpoints, with the default transport. `None`: it is none.
    #[serde(skip_serializing_if = "is_default")]
    pub variant_of: Option<BackendId>,
    /// How its pods are spoken to.
    #[serde(skip_serializing_if = "is_default")]
    pub transport: Arc<Transport>,
    /// The algorithm.
    pub load_balance: LoadBalance,
    /// Clients that stay with their pod.
    #[serde(skip_serializing_if = "is_default")]
    pub affinity: Option<Box<Affinity>>,
    /// How new and failing endpoints are treated.
    #[serde(skip_serializing_if = "is_default")]
    pub health: HealthPolicy,
    /// Endpoints near the data plane come first; the others serve when there is none.
    #[serde(skip_serializing_if = "is_default")]
    pub prefer_zone: bool,
    /// Attempts for one request: the first and every retry.
    pub attempts: NonZeroU8,
    /// Ready pods, sorted, without duplicates. Empty means 503.
    pub endpoints: Vec<Endpoint>,
}

impl Default for Backend {
    fn default() -> Self {
        Backend {
            variant_of: None,
            transport: Arc::default(),
            load_balance: LoadBalance::default(),
            attempts: NonZeroU8::MIN,
            affinity: None,
            health: HealthPolicy::default(),
            prefer_zone: false,
            endpoints: Vec::new(),
        }
    }
}

impl Backend {
    /// This backend, with the endpoints that it had before and has no more as draining: they are still reachable, and get nothing new.
    #[must_use]
    pub fn with_leaving(&self, before: &Backend) -> Backend {
        let mut endpoints = self.endpoints.clone();
        endpoints.extend(before.endpoints.iter().cloned().map(|endpoint| Endpoint {
            draining: true,
            ..endpoint
        }));
        // What it is now comes before what it was.
        endpoints.sort_by_key(|endpoint| endpoint.address);
        endpoints.dedup_by_key(|endpoint| endpoint.address);
        Backend {
            endpoints,
            ..self.clone()
        }
    }
}

/// One pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Endpoint {
    /// Address of the endpoint.
    pub address: SocketAddr,
    /// Its share, relative to the others.
    #[serde(skip_serializing_if = "is_one")]
    pub weight: NonZeroU16,
    /// The zones that it is near to, sorted; only where that matters.
    #[serde(skip_serializing_if = "is_default")]
    pub zones: Box<[String]>,
    /// It terminates: it keeps the sessions that it has, and gets nothing else.
    #[serde(skip_serializing_if = "is_default")]
    pub draining: bool,
    /// It gets requests only when no other endpoint may be chosen, as nginx's `backup`.
    #[serde(skip_serializing_if = "is_default")]
    pub backup: bool,
    /// It fails its health checks: it gets requests only when all others do, too.
    #[serde(skip_serializing_if = "is_default")]
    pub unhealthy: bool,
}

impl Endpoint {
    /// One that gets its share.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Endpoint {
            address,
            weight: NonZeroU16::MIN,
            zones: Box::default(),
            draining: false,
            backup: false,
            unhealthy: false,
        }
    }
}

fn is_one(weight: &NonZeroU16) -> bool {
    *weight == NonZeroU16::MIN
}
