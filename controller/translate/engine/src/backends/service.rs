//! Service of a backend: its port, its address, its external name.

use std::net::SocketAddr;

use k8s_openapi::api::core::v1::ServicePort;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use sluice_ir::{Hostname, ReasonCode};
use sluice_syntax::DnsName;

use super::{ReferenceSite, Source};
use crate::external_host::ExternalHost;
use crate::own_addresses::AddressChecker;
use crate::references::DependencyTracker;
use crate::report::Reporter;
use crate::service_port::Port;
use crate::upstream_url::{self, UpstreamUrl};
use crate::{
    Kind, ObjectCache, ObjectKey, ObjectRef, Provenance, Report, Service, Severity, UpstreamOptions,
};

/// Source of the endpoints of a Service.
pub(super) enum Pods<'a> {
    Listed(&'a ServicePort),
    /// Behind the Service's own address.
    Address(SocketAddr),
    /// Not in the cluster.
    External(ExternalHost),
}

/// Why a backend leads nowhere.
pub(super) enum Missing {
    Service(ObjectKey),
    Other {
        code: ReasonCode,
        field: &'static str,
        reason: String,
    },
}

impl Missing {
    pub(super) fn report_at(&self, site: &ReferenceSite, reports: &mut Vec<Report>) {
        let mut reporter = Reporter::new(site.object.clone(), reports);
        let consequence = site.without_endpoints();
        match self {
            Missing::Service(key) => {
                let service = ObjectRef {
                    kind: Kind::Service,
                    key: key.clone(),
                };
                let field = format!("{}.name", site.field);
                reporter.report_missing(service, Severity::Error, field, consequence);
            }
            Missing::Other {
                code,
                field,
                reason,
            } => {
                reporter.report(
                    *code,
                    Severity::Error,
                    format!("{}{field}", site.field),
                    reason,
                    consequence,
                );
            }
        }
    }
}

pub(super) fn find<'a>(
    key: &ObjectKey,
    wanted: &Port,
    source: &Source,
    cluster: &'a ObjectCache,
    (options, checker): (UpstreamOptions<'_>, &AddressChecker<'_>),
) -> Result<Pods<'a>, Missing> {
    let missing = |code, field, reason| Missing::Other {
        code,
        field,
        reason,
    };
    let Some(service) = cluster.service(key) else {
        return Err(Missing::Service(key.clone()));
    };
    if let Some(name) = &service.external_name {
        return external(name, service, wanted, options)
            .map(Pods::External)
            .map_err(|got| {
                missing(
                    ReasonCode::InvalidRef,
                    ".name",
                    format!("expected a Service with endpoints, got {key}, {got}"),
                )
            });
    }
    let port = port_of(service, wanted).ok_or_else(|| {
        missing(
            ReasonCode::RefNotFound,
            ".port",
            format!("expected a port of Service {key}, got {wanted}"),
        )
    })?;
    let address = service
        .cluster_ip
        .filter(|_| source.balance.service_upstream);
    let (Some(ip), Ok(number)) = (address, u16::try_from(port.port)) else {
        // A headless Service has no address; then its pods are asked, as always.
        return Ok(Pods::Listed(port));
    };
    let address = SocketAddr::new(ip, number);
    match checker.check(address, Provenance::Written) {
        Ok(()) => Ok(Pods::Address(address)),
        Err(forbidden) => Err(missing(
            ReasonCode::RefNotPermitted,
            ".name",
            format!("the address of Service {key} is {address}, {forbidden}"),
        )),
    }
}

/// Cluster IP of a Service; a headless one has none.
pub fn service_address(
    target: &UpstreamUrl,
    tracker: &DependencyTracker<'_>,
) -> Option<SocketAddr> {
    let (key, wanted) = target.service()?;
    let service = tracker.service(&key)?;
    let port = u16::try_from(port_of(service, &wanted)?.port).ok()?;
    let address = SocketAddr::new(service.cluster_ip?, port);
    tracker
        .addresses
        .check(address, Provenance::Written)
        .is_ok()
        .then_some(address)
}

/// A Service that is another name. The error says what it is instead.
fn external(
    name: &str,
    service: &Service,
    wanted: &Port,
    options: UpstreamOptions<'_>,
) -> Result<ExternalHost, String> {
    if options.disable_external_name {
        return Err("of type ExternalName (--disable-svc-external-name is on)".to_owned());
    }
    let invalid = |_| format!("which is called {:?}", sluice_syntax::shortened(name));
    let host = Hostname::parse(name.trim_end_matches('.')).map_err(invalid)?;
    let name = DnsName::parse(name).map_err(invalid)?;
    let number = match wanted {
        // There are no pods with a target port.
        Port::Number(number) => Some(*number),
        Port::Name(_) | Port::First => port_of(service, wanted).map(|port| port.port),
    };
    let port = number
        .and_then(|port| u16::try_from(port).ok())
        .filter(|port| *port != 0);
    let port = port.ok_or_else(|| format!("without a port {wanted}"))?;
    let forbidden = |what| format!("which leads to {}:{port}, {what}", host.as_str());
    upstream_url::check(&host, port, options.addresses).map_err(forbidden)?;
    Ok(ExternalHost { name, port })
}

/// By number, by name or by target port. As in ingress-nginx the first port that matches is meant: a number may be one port's and
/// the target of another in front of it.
fn port_of<'a>(service: &'a Service, wanted: &Port) -> Option<&'a ServicePort> {
    service.ports().iter().find(|port| match wanted {
        Port::First => true,
        Port::Number(number) => {
            port.port == *number
                || matches!(&port.target_port, Some(IntOrString::Int(target)) if target == number)
        }
        Port::Name(name) => {
            port.name.as_deref() == Some(name)
                || matches!(&port.target_port, Some(IntOrString::String(target)) if target == name)
        }
    })
}
