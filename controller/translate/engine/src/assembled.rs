//! The servers of a route group, as its input makes them.

use std::collections::BTreeMap;

use sluice_ir::{
    BackendId, Header, HostTls, Hostname, RouteId, SecretId, Server, ServerName, Stream, StreamPort,
};

use crate::backends::{BackendRef, ReferencePrecedence};
use crate::canaries::CanaryCandidate;
use crate::secrets::Secrets;
use crate::{ObjectKey, Report};

/// Servers, the owners of their routes, and all that they need.
#[derive(Debug, Default)]
pub struct Assembled {
    /// Servers, without canaries, and as if no endpoints were missing.
    pub servers: BTreeMap<ServerName, Server>,
    /// The object that each route is from.
    pub owners: Owners,
    /// Error services of routes.
    pub error_services: BTreeMap<RouteId, ErrorService>,
    /// TLS by the name in a handshake, aliases among them.
    pub tls: BTreeMap<ServerName, HostTls>,
    /// Hosts with TLS passthrough.
    pub passthrough: BTreeMap<Hostname, BackendId>,
    /// References to backends.
    pub backend_refs: Vec<(ReferencePrecedence, BackendRef)>,
    /// Candidates for canaries of backends.
    pub canary_candidates: Vec<(ReferencePrecedence, CanaryCandidate)>,
    /// Secrets that the servers present, trust or compare passwords with.
    pub secrets: Secrets,
    /// Reports about the objects.
    pub reports: Vec<Report>,
}

/// The object that each route is from. Routes of flags, and those that follow from others, are from none.
pub type Owners = BTreeMap<RouteId, RouteOwner>;

/// The object that a route is from, and its text for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteOwner {
    /// The object.
    pub object: ObjectKey,
    /// Its field with the path, as in a report.
    pub field: String,
    /// The path as it is written there, if the route matches it in other words.
    pub written: Option<String>,
}

impl RouteOwner {
    /// True for what no path of a host takes: it is of the host's first rule, by the field of the host.
    #[must_use]
    pub fn is_of_host(&self) -> bool {
        self.field.starts_with("spec.rules[") && self.field.ends_with("].host")
    }
}

/// Error service for when the endpoints of a route are missing, and the request that it gets.
#[derive(Clone, Debug)]
pub struct ErrorService {
    /// Its backend.
    pub backend: BackendId,
    /// Fallback for when it has no endpoints itself.
    pub next: Option<BackendId>,
    /// Request headers that describe the route.
    pub headers: Vec<Header>,
}

/// The outcome of the operator's flags, beside the settings that all objects share.
#[derive(Debug, Default)]
pub struct Flags {
    /// Certificate of hosts that have none of their own.
    pub default_certificate: Option<SecretId>,
    /// TCP and UDP ports.
    pub streams: BTreeMap<StreamPort, Stream>,
    /// Secrets that flags name.
    pub secrets: Secrets,
    /// Backends of TCP and UDP ports.
    pub backend_refs: Vec<(ReferencePrecedence, BackendRef)>,
    /// Reports about what flags name.
    pub reports: Vec<Report>,
}
