//! Services and their ports: what an Ingress backend leads to.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sha2::{Digest, Sha256};
use sluice_ir::{Backend, BackendId, Endpoint, Hostname, Outside, Transport};

use crate::annotations::Balance;
use crate::claims::Seniority;
use crate::endpoints::{self, Wanted};
use crate::outside::{Target, is_forbidden};
use crate::references::Seen;
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
    /// Only for a part of somebody else's requests, which the filter picks out.
    pub(crate) as_canary: bool,
}

impl Use {
    /// Only ports without HTTP are named in a ConfigMap.
    fn without_pods(&self) -> &'static str {
        if self.object.kind == Kind::ConfigMap { "connections are closed" } else { "answered with 503" }
    }
}

/// How a location uses a backend.
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
            Origin::Service(..) | Origin::Outside(_) => Authority::None,
        }
    }
}

/// Where a backend's endpoints come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Service(ObjectKey, Port),
    Outside(Outside),
}

/// What a backend is made from, so that it can be made again when its endpoints change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) origin: Origin,
    pub(crate) balance: Balance,
    pub(crate) transport: Transport,
    /// The most that any location asks for.
    pub(crate) attempts: NonZeroU8,
    pub(crate) uses: Vec<Use>,
}

/// One place where a backend is named, and what is wanted of it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) id: BackendId,
    pub(crate) origin: Origin,
    pub(crate) balance: Balance,
    pub(crate) transport: Transport,
    pub(crate) attempts: NonZeroU8,
    pub(crate) usage: Use,
    pub(crate) authority: Authority,
}

/// Who names backends, in the order in which they are heard.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    #[default]
    Flags,
    Ingress(Seniority),
    /// The ConfigMaps of ports without HTTP.
    Ports,
}

/// The order of everything that is said: by whom, and as which of the things that they say.
pub(crate) type Rank = (Arc<Turn>, usize);

/// Backends as they are named. What becomes of a backend that several name, the ledger says.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// What pods are usually spoken to with: it is not named in ids.
    usual: Transport,
    turn: Arc<Turn>,
    said: usize,
    pub(crate) named: Vec<(Rank, Named)>,
}

impl Uses {
    pub(crate) fn new(usual: &Transport) -> Self {
        Uses { usual: usual.clone(), ..Uses::default() }
    }

    /// Whose turn it is from now on.
    pub(crate) fn turn(&mut self, turn: Turn) {
        (self.turn, self.said) = (Arc::new(turn), 0);
    }

    /// The next rank.
    pub(crate) fn rank(&mut self) -> Rank {
        self.said += 1;
        (Arc::clone(&self.turn), self.said)
    }

    /// Notes that a backend is used and says its id.
    pub(crate) fn name(&mut self, origin: Origin, terms: Terms<'_>, usage: Use) -> BackendId {
        let Terms { transport, balance, attempts, routes } = terms;
        let authority = Authority::over(&origin, &usage, routes);
        let usual = match &origin {
            Origin::Service(key, port) => BackendId::new(&key.namespace, &key.name, port),
            Origin::Outside(outside) => BackendId::outside(outside),
        };
        let id = if *transport == self.usual { usual } else { usual.variant(&label(transport)) };
        let (balance, transport) = (balance.clone(), transport.clone());
        let rank = self.rank();
        let named = Named { id: id.clone(), origin, balance, transport, attempts, usage, authority };
        self.named.push((rank, named));
        id
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
    let Source { origin, balance, transport, attempts, .. } = source.clone();
    let Balance { load_balance, affinity, care, prefer_zone, .. } = balance;
    let known = Backend { transport, load_balance, affinity, care, ..Backend::default() };
    let backend = Backend { prefer_zone, attempts, ..known };
    let (service, port) = match origin {
        Origin::Service(service, port) => (service, port),
        Origin::Outside(outside) => return (Backend { outside: Some(outside), ..backend }, reports),
    };
    match find(&service, &port, source, resources, options) {
        Ok(Pods::Listed(port)) => {
            // Only sessions keep a pod that terminates; without them it is gone, as in ingress-nginx.
            let (draining, zones) = (backend.affinity.is_some(), prefer_zone);
            let wanted = Wanted { service: &service, port, draining, zones };
            let endpoints = endpoints::of(wanted, resources, options, &mut reports);
            (Backend { endpoints, ..backend }, reports)
        }
        Ok(Pods::Address(address)) => {
            (Backend { endpoints: vec![Endpoint::at(address)], ..backend }, reports)
        }
        Ok(Pods::Outside(outside)) => {
            let canaries = source.uses.iter().filter(|usage| usage.as_canary);
            canaries.for_each(|usage| say_canary_outside(usage, &mut reports));
            (Backend { outside: Some(outside), ..backend }, reports)
        }
        Err(missing) => {
            source.uses.iter().for_each(|usage| missing.tell(usage, &mut reports));
            (backend, reports)
        }
    }
}

/// Where the pods of a Service are found.
enum Pods<'a> {
    Listed(&'a ServicePort),
    /// Behind the Service's own address.
    Address(SocketAddr),
    /// Not in the cluster.
    Outside(Outside),
}

/// Why a backend leads nowhere.
enum Missing {
    Service(ObjectKey),
    Other { field: &'static str, reason: String },
}

impl Missing {
    fn tell(&self, usage: &Use, reports: &mut Vec<Report>) {
        let mut reporter = Reporter::new(usage.object.clone(), reports);
        let consequence = usage.without_pods();
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

/// What DNS chooses the filter does not choose.
fn say_canary_outside(usage: &Use, reports: &mut Vec<Report>) {
    let reason = "expected a Service with pods behind a canary, got one of type ExternalName";
    let field = format!("{}.name", usage.field);
    Reporter::new(usage.object.clone(), reports).say(Severity::Warning, field, reason, "canary not used");
}

fn find<'a>(
    key: &ObjectKey,
    wanted: &Port,
    source: &Source,
    resources: &'a Resources,
    options: &Options,
) -> Result<Pods<'a>, Missing> {
    let missing = |field, reason| Missing::Other { field, reason };
    let Some(service) = resources.services.get(key) else { return Err(Missing::Service(key.clone())) };
    let spec = service.spec.as_ref();
    if spec.and_then(|spec| spec.type_.as_deref()) == Some("ExternalName") {
        let name = spec.and_then(|spec| spec.external_name.as_deref()).unwrap_or_default();
        return outside(name, service, wanted, options)
            .map(Pods::Outside)
            .map_err(|got| missing(".name", format!("expected a Service with endpoints, got {key}, {got}")));
    }
    let port = port_of(service, wanted)
        .ok_or_else(|| missing(".port", format!("expected a port of Service {key}, got {wanted}")))?;
    let address = cluster_ip(service);
    match (source.balance.service_upstream, address, u16::try_from(port.port)) {
        (true, Some(ip), Ok(port)) => Ok(Pods::Address(SocketAddr::new(ip, port))),
        // A headless Service has no address; then its pods are asked, as always.
        _ => Ok(Pods::Listed(port)),
    }
}

/// Where a Service of the cluster itself answers; a headless one does not.
pub(crate) fn service_address(target: &Target, seen: &Seen<'_>, options: &Options) -> Option<SocketAddr> {
    let (key, wanted) = target.service()?;
    let service = seen.service(&key)?;
    let port = u16::try_from(port_of(service, &wanted)?.port).ok()?;
    let address = SocketAddr::new(cluster_ip(service)?, port);
    (!(address.ip().is_loopback() && options.own_ports.contains(&port))).then_some(address)
}

fn cluster_ip(service: &Service) -> Option<IpAddr> {
    service.spec.as_ref()?.cluster_ip.as_deref()?.parse().ok()
}

/// A Service that is another name. The error says what it is instead.
fn outside(name: &str, service: &Service, wanted: &Port, options: &Options) -> Result<Outside, String> {
    if options.disable_external_name {
        return Err("of type ExternalName (--disable-svc-external-name is on)".to_owned());
    }
    let host = Hostname::parse(name.trim_end_matches('.'))
        .map_err(|_| format!("which is called {:?}", crate::object::shortened(name)))?;
    if is_forbidden(&host) {
        return Err(format!("which leads to {}", host.as_str()));
    }
    let listed = port_of(service, wanted).map(|port| port.port);
    let number = match wanted {
        Port::Number(number) => Some(listed.unwrap_or(*number)),
        Port::Name(_) | Port::First => listed,
    };
    let port = number.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0);
    port.map(|port| Outside { host, port }).ok_or_else(|| format!("without a port {wanted}"))
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
