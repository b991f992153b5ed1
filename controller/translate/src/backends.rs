//! Services and their ports: what an Ingress backend leads to.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sha2::{Digest, Sha256};
use sluice_ir::{Backend, BackendId, Endpoint, Hostname, Transport};

use crate::annotations::Balance;
use crate::claims::Seniority;
use crate::dns_name::{ExternalHost, WantedName};
use crate::endpoints::{self, Wanted};
use crate::external_host::{self, Target};
use crate::own::Judge;
use crate::references::DependencyTracker;
use crate::report::Reporter;
use crate::{
    AddressPolicy, DnsName, Kind, ObjectKey, ObjectRef, Options, Provenance, Report, Resources,
    Severity,
};

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

/// A backend, and what is to be said about it.
pub(crate) struct Resolved {
    pub(crate) backend: Backend,
    pub(crate) reports: Vec<Report>,
    /// The name that its endpoints are of, if DNS has to be asked: it is made again when that leads elsewhere.
    pub(crate) name: Option<WantedName>,
    /// An address was refused because it is Sluice's own: it is made again when something else is.
    pub(crate) leads_home: bool,
}

/// Makes a backend from what there is now. A backend that leads nowhere is a backend without endpoints.
pub(crate) fn resolve(
    source: &Source,
    resources: &Resources,
    options: &Options,
    policy: &AddressPolicy,
) -> Resolved {
    let mut reports = Vec::new();
    let judge = Judge::new(policy, &source.transport);
    let Source {
        origin,
        balance,
        transport,
        attempts,
        ..
    } = source.clone();
    let Balance {
        load_balance,
        affinity,
        care,
        prefer_zone,
        ..
    } = balance;
    let known = Backend {
        transport,
        load_balance,
        affinity,
        health: care,
        ..Backend::default()
    };
    let backend = Backend {
        prefer_zone,
        attempts,
        ..known
    };
    let (service, port) = match origin {
        Origin::Service(service, port) => (service, port),
        Origin::External(host) => {
            let places = source
                .uses
                .iter()
                .map(|usage| (usage.object.clone(), usage.field.clone()));
            let endpoints = of_host(&host, places, resources, &judge, &mut reports);
            return Resolved {
                backend: Backend {
                    endpoints,
                    ..backend
                },
                reports,
                name: wanted(
                    host,
                    source.uses.iter().map(|usage| &usage.object.key.namespace),
                ),
                leads_home: judge.leads_home(),
            };
        }
    };
    let mut name = None;
    let backend = match find(&service, &port, source, resources, (options, &judge)) {
        Ok(Pods::Listed(port)) => {
            // Only sessions keep a pod that terminates; without them it is gone, as in ingress-nginx.
            let (draining, zones) = (backend.affinity.is_some(), prefer_zone);
            let wanted = Wanted {
                service: &service,
                port,
                draining,
                zones,
            };
            let endpoints = endpoints::of(wanted, resources, &judge, &mut reports);
            Backend {
                endpoints,
                ..backend
            }
        }
        Ok(Pods::Address(address)) => Backend {
            endpoints: vec![Endpoint::at(address)],
            ..backend
        },
        Ok(Pods::External(host)) => {
            let key = service.clone();
            let place = (
                ObjectRef {
                    kind: Kind::Service,
                    key,
                },
                "spec.externalName".to_owned(),
            );
            let endpoints = of_host(&host, [place].into_iter(), resources, &judge, &mut reports);
            name = wanted(host, std::iter::once(&service.namespace));
            Backend {
                endpoints,
                ..backend
            }
        }
        Err(missing) => {
            source
                .uses
                .iter()
                .for_each(|usage| missing.tell(usage, &mut reports));
            backend
        }
    };
    Resolved {
        backend,
        reports,
        name,
        leads_home: judge.leads_home(),
    }
}

/// The name that is asked about, if there is one, and for whom.
fn wanted<'a>(
    host: ExternalHost,
    namespaces: impl Iterator<Item = &'a String>,
) -> Option<WantedName> {
    let name = host.into_question()?;
    Some(WantedName {
        name,
        namespaces: namespaces.cloned().collect(),
    })
}

/// Where a host leads now, as far as that may be dialled. What is wrong is said at each of these places.
fn of_host(
    host: &ExternalHost,
    places: impl Iterator<Item = (ObjectRef, String)>,
    resources: &Resources,
    judge: &Judge<'_>,
    reports: &mut Vec<Report>,
) -> Vec<Endpoint> {
    let resolved = host.endpoints(resources.resolution(&host.name), judge);
    let is_useless = resolved.endpoints.is_empty();
    let (severity, consequence) = match is_useless {
        true => (Severity::Error, "no request is sent there"),
        false => (Severity::Warning, "the other addresses are used"),
    };
    for (object, field) in places {
        let mut reporter = Reporter::new(object, reports);
        for reason in &resolved.refused {
            reporter.say(severity, field.clone(), reason.clone(), consequence);
        }
        if let Some(failure) = &resolved.failure {
            let consequence = if is_useless {
                consequence
            } else {
                "its last known addresses are used"
            };
            reporter.say(severity, field.clone(), failure.clone(), consequence);
        }
    }
    resolved.endpoints
}

/// Where the pods of a Service are found.
enum Pods<'a> {
    Listed(&'a ServicePort),
    /// Behind the Service's own address.
    Address(SocketAddr),
    /// Not in the cluster.
    External(ExternalHost),
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
                let service = ObjectRef {
                    kind: Kind::Service,
                    key: key.clone(),
                };
                let field = format!("{}.name", usage.field);
                reporter.say_missing(service, Severity::Error, field, consequence);
            }
            Missing::Other { field, reason } => {
                reporter.say(
                    Severity::Error,
                    format!("{}{field}", usage.field),
                    reason,
                    consequence,
                );
            }
        }
    }
}

fn find<'a>(
    key: &ObjectKey,
    wanted: &Port,
    source: &Source,
    resources: &'a Resources,
    (options, judge): (&Options, &Judge<'_>),
) -> Result<Pods<'a>, Missing> {
    let missing = |field, reason| Missing::Other { field, reason };
    let Some(service) = resources.services.get(key) else {
        return Err(Missing::Service(key.clone()));
    };
    let spec = service.spec.as_ref();
    if spec.and_then(|spec| spec.type_.as_deref()) == Some("ExternalName") {
        let name = spec
            .and_then(|spec| spec.external_name.as_deref())
            .unwrap_or_default();
        return external(name, service, wanted, options)
            .map(Pods::External)
            .map_err(|got| {
                missing(
                    ".name",
                    format!("expected a Service with endpoints, got {key}, {got}"),
                )
            });
    }
    let port = port_of(service, wanted).ok_or_else(|| {
        missing(
            ".port",
            format!("expected a port of Service {key}, got {wanted}"),
        )
    })?;
    let address = cluster_ip(service).filter(|_| source.balance.service_upstream);
    let (Some(ip), Ok(number)) = (address, u16::try_from(port.port)) else {
        // A headless Service has no address; then its pods are asked, as always.
        return Ok(Pods::Listed(port));
    };
    let address = SocketAddr::new(ip, number);
    match judge.check(address, Provenance::Written) {
        Ok(()) => Ok(Pods::Address(address)),
        Err(forbidden) => Err(missing(
            ".name",
            format!("the address of Service {key} is {address}, {forbidden}"),
        )),
    }
}

/// Where a Service of the cluster itself answers; a headless one does not.
pub(crate) fn service_address(
    target: &Target,
    tracker: &DependencyTracker<'_>,
    options: &Options,
) -> Option<SocketAddr> {
    let (key, wanted) = target.service()?;
    let service = tracker.service(&key)?;
    let port = u16::try_from(port_of(service, &wanted)?.port).ok()?;
    let address = SocketAddr::new(cluster_ip(service)?, port);
    options
        .addresses
        .check(address, Provenance::Written)
        .is_ok()
        .then_some(address)
}

fn cluster_ip(service: &Service) -> Option<IpAddr> {
    service.spec.as_ref()?.cluster_ip.as_deref()?.parse().ok()
}

/// A Service that is another name. The error says what it is instead.
fn external(
    name: &str,
    service: &Service,
    wanted: &Port,
    options: &Options,
) -> Result<ExternalHost, String> {
    if options.disable_external_name {
        return Err("of type ExternalName (--disable-svc-external-name is on)".to_owned());
    }
    let invalid = |_| format!("which is called {:?}", crate::report::shortened(name));
    let host = Hostname::parse(name.trim_end_matches('.')).map_err(invalid)?;
    let name = DnsName::parse(name).map_err(invalid)?;
    let listed = port_of(service, wanted).map(|port| port.port);
    let number = match wanted {
        Port::Number(number) => Some(listed.unwrap_or(*number)),
        Port::Name(_) | Port::First => listed,
    };
    let port = number
        .and_then(|port| u16::try_from(port).ok())
        .filter(|port| *port != 0);
    let port = port.ok_or_else(|| format!("without a port {wanted}"))?;
    let forbidden = |what| format!("which leads to {}:{port}, {what}", host.as_str());
    external_host::check(&host, port, &options.addresses).map_err(forbidden)?;
    Ok(ExternalHost { name, port })
}

/// By number, by target port or by name.
fn port_of<'a>(service: &'a Service, wanted: &Port) -> Option<&'a ServicePort> {
    let ports = service
        .spec
        .as_ref()
        .and_then(|spec| spec.ports.as_deref())
        .unwrap_or_default();
    ports.iter().find(|port| match wanted {
        Port::First => true,
        Port::Number(number) => port.port == *number,
        Port::Name(name) => {
            port.name.as_deref() == Some(name)
                || matches!(&port.target_port, Some(IntOrString::String(target)) if target == name)
        }
    })
}
