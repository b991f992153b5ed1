//! Services and their ports: what an Ingress backend leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU8;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sha2::{Digest, Sha256};
use sluice_ir::{Backend, BackendId, Endpoint, LoadBalance, Transport};

use crate::endpoints;
use crate::report::Reporter;
use crate::{Kind, ObjectKey, ObjectRef, Options, Report, Resources, Severity};

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

/// Where a backend is named; what is wrong with it is reported there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) object: ObjectRef,
    pub(crate) field: String,
}

/// How a location uses a backend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub(crate) transport: &'a Transport,
    pub(crate) attempts: NonZeroU8,
}

/// What a backend is made from, so that it can be made again when its endpoints change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) service: ObjectKey,
    pub(crate) port: Port,
    pub(crate) transport: Transport,
    /// The most that any location asks for.
    pub(crate) attempts: NonZeroU8,
    pub(crate) uses: Vec<Use>,
}

/// The backends that locations name, while a translation collects them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    /// What pods are usually spoken to with: it is not named in ids.
    pub(crate) usual: Transport,
    sources: BTreeMap<BackendId, Source>,
}

impl Registry {
    /// Notes that a backend is used and says its id.
    pub(crate) fn use_of(
        &mut self,
        service: ObjectKey,
        port: Port,
        terms: Terms<'_>,
        usage: Use,
    ) -> BackendId {
        let Terms { transport, attempts } = terms;
        let usual = BackendId::new(&service.namespace, &service.name, &port);
        let id = if *transport == self.usual { usual } else { usual.variant(&label(transport)) };
        let new = || Source { service, port, transport: transport.clone(), attempts, uses: Vec::new() };
        let source = self.sources.entry(id.clone()).or_insert_with(new);
        source.attempts = source.attempts.max(attempts);
        source.uses.push(usage);
        id
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&BackendId, &Source)> {
        self.sources.iter()
    }

    pub(crate) fn source(&self, id: &BackendId) -> Option<&Source> {
        self.sources.get(id)
    }

    /// Which backends each Service stands behind.
    pub(crate) fn by_service(&self) -> BTreeMap<ObjectKey, BTreeSet<BackendId>> {
        let mut by_service: BTreeMap<ObjectKey, BTreeSet<BackendId>> = BTreeMap::new();
        for (id, source) in &self.sources {
            by_service.entry(source.service.clone()).or_default().insert(id.clone());
        }
        by_service
    }
}

/// Tells transports apart in ids: the same for the same transport, in every run and on every machine.
fn label(transport: &Transport) -> String {
    let text = serde_json::to_vec(transport).unwrap_or_default();
    Sha256::digest(text).iter().take(8).fold(String::new(), |label, byte| format!("{label}{byte:02x}"))
}

/// Makes a backend from what there is now. A backend that leads nowhere is a backend without endpoints.
pub(crate) fn resolve(source: &Source, resources: &Resources, options: &Options) -> (Backend, Vec<Report>) {
    let mut reports = Vec::new();
    let endpoints = match find(source, resources) {
        Ok(port) => {
            let owner = ObjectRef { kind: Kind::Service, key: source.service.clone() };
            let slices = resources.slices_of(&source.service).map(AsRef::as_ref);
            endpoints::ready(slices, port, options, &mut Reporter::new(owner, &mut reports))
        }
        Err(missing) => {
            source.uses.iter().for_each(|usage| missing.tell(usage, &mut reports));
            BTreeSet::new()
        }
    };
    let endpoints = endpoints.into_iter().map(|address| Endpoint { address }).collect();
    let Source { transport, attempts, .. } = source.clone();
    (Backend { transport, load_balance: LoadBalance::RoundRobin, attempts, endpoints }, reports)
}

/// Why a backend leads nowhere.
enum Missing {
    Service(ObjectKey),
    Other { field: &'static str, reason: String },
}

impl Missing {
    fn tell(&self, usage: &Use, reports: &mut Vec<Report>) {
        let mut reporter = Reporter::new(usage.object.clone(), reports);
        let consequence = "answered with 503";
        match self {
            Missing::Service(key) => {
                let service = ObjectRef { kind: Kind::Service, key: key.clone() };
                let field = format!("{}.name", usage.field);
                reporter.say_missing(service, Severity::Error, field, consequence);
            }
            Missing::Other { field, reason } => {
                reporter.say(Severity::Error, format!("{}{field}", usage.field), reason, consequence);
            }
        }
    }
}

fn find<'a>(source: &Source, resources: &'a Resources) -> Result<&'a ServicePort, Missing> {
    let Some(service) = resources.services.get(&source.service) else {
        return Err(Missing::Service(source.service.clone()));
    };
    let spec = service.spec.as_ref();
    if spec.and_then(|spec| spec.type_.as_deref()) == Some("ExternalName") {
        let reason =
            format!("expected a Service with endpoints, got {} of type ExternalName", source.service);
        return Err(Missing::Other { field: ".name", reason });
    }
    port_of(service, &source.port).ok_or_else(|| Missing::Other {
        field: ".port",
        reason: format!("expected a port of Service {}, got {}", source.service, source.port),
    })
}

/// By number, by target port or by name.
fn port_of<'a>(service: &'a Service, wanted: &Port) -> Option<&'a ServicePort> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    ports.iter().find(|port| match wanted {
        Port::First => true,
        Port::Number(number) => port.port == *number,
        Port::Name(name) => {
            port.name.as_deref() == Some(name)
                || matches!(&port.target_port, Some(IntOrString::String(target)) if target == name)
        }
    })
}
