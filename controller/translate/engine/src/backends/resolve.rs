//! Resolving a backend: the endpoints that it has right now.

use std::sync::Arc;

use sluice_ir::{Backend, BackendId, Endpoint, ReasonCode};

use super::service::{Pods, find};
use super::{BackendSource, Balance, Source};
use crate::endpoints::{self, Wanted};
use crate::external_host::ExternalHost;
use crate::ids::without_variant;
use crate::own_addresses::AddressChecker;
use crate::report::Reporter;
use crate::used_names::WantedName;
use crate::{
    AddressPolicy, EndpointHealth, Kind, ObjectCache, ObjectKey, ObjectRef, Report, Severity,
    UpstreamOptions,
};

/// A backend, and its reports.
pub(crate) struct Resolved {
    pub(crate) backend: Backend,
    pub(crate) reports: Vec<Report>,
    /// The name that its endpoints are of, if DNS has to be asked: it is made again when that leads elsewhere.
    pub(crate) name: Option<WantedName>,
    /// An address was refused because it is Sluice's own: it is made again when something else is.
    pub(crate) found_own: bool,
}

/// Makes a backend from what there is now. A backend that leads nowhere is a backend without endpoints.
pub(crate) fn resolve(
    id: &BackendId,
    source: &Source,
    cluster: &ObjectCache,
    options: UpstreamOptions<'_>,
    policy: &AddressPolicy,
) -> Resolved {
    let checker = AddressChecker::new(policy, &source.spoken.transport);
    let mut resolved = Resolved {
        backend: without_endpoints(id, source),
        reports: Vec::new(),
        name: None,
        found_own: false,
    };
    match &source.origin {
        BackendSource::Service(service, port) => {
            match find(service, port, source, cluster, (options, &checker)) {
                Ok(pods) => resolved.take_pods(pods, service, cluster, &checker),
                Err(missing) => {
                    let sites = source.sites.iter();
                    sites.for_each(|site| missing.report_at(site, &mut resolved.reports));
                }
            }
        }
        BackendSource::External(host) => {
            let sites = source.sites.iter();
            let places = sites.map(|site| (site.object.clone(), site.field.clone()));
            resolved.backend.endpoints =
                of_host(host, places, cluster, &checker, &mut resolved.reports);
            let sites = source.sites.iter();
            let namespaces = sites.map(|site| &site.object.key.namespace);
            resolved.name = wanted(host.clone(), namespaces);
        }
    }
    if let Some(health) = cluster.health(id) {
        resolved.take_health(health, source);
    }
    resolved.found_own = checker.found_own();
    resolved
}

fn without_endpoints(id: &BackendId, source: &Source) -> Backend {
    let plain = without_variant(id);
    let Balance {
        load_balance,
        affinity,
        health,
        prefer_zone,
        ..
    } = Balance::clone(&source.balance);
    Backend {
        variant_of: (plain != *id).then_some(plain),
        transport: Arc::clone(&source.spoken.transport),
        load_balance,
        affinity,
        health,
        prefer_zone,
        attempts: source.spoken.attempts,
        endpoints: Vec::new(),
    }
}

impl Resolved {
    fn take_pods(
        &mut self,
        pods: Pods<'_>,
        service: &ObjectKey,
        cluster: &ObjectCache,
        checker: &AddressChecker<'_>,
    ) {
        self.backend.endpoints = match pods {
            Pods::Listed(port) => {
                let wanted = Wanted {
                    service,
                    port,
                    // Only sessions keep a pod that terminates; without them it is gone, as in ingress-nginx.
                    draining: self.backend.affinity.is_some(),
                    zones: self.backend.prefer_zone,
                };
                endpoints::resolve(wanted, cluster, checker, &mut self.reports)
            }
            Pods::Address(address) => vec![Endpoint::at(address)],
            Pods::External(host) => {
                let object = ObjectRef {
                    kind: Kind::Service,
                    key: service.clone(),
                };
                let place = (object, "spec.externalName".to_owned());
                self.name = wanted(host.clone(), std::iter::once(&service.namespace));
                of_host(
                    &host,
                    [place].into_iter(),
                    cluster,
                    checker,
                    &mut self.reports,
                )
            }
        };
    }
}

impl Resolved {
    /// Marks what fails its checks, and reports what is not checked.
    fn take_health(&mut self, health: &EndpointHealth, source: &Source) {
        if self.backend.health.check.is_none() {
            return;
        }
        for endpoint in &mut self.backend.endpoints {
            endpoint.unhealthy = health.unhealthy.contains(&endpoint.address);
        }
        for site in source.sites.iter().filter(|_| health.unchecked > 0) {
            let reason = format!(
                "{} of its endpoints are not checked: its namespace has too many",
                health.unchecked
            );
            Reporter::new(site.object.clone(), &mut self.reports).report(
                ReasonCode::LimitExceeded,
                Severity::Warning,
                site.field.clone(),
                reason,
                "they count as healthy",
            );
        }
    }
}

/// The name that is asked about, if there is one, and for whom.
fn wanted<'a>(
    host: ExternalHost,
    namespaces: impl Iterator<Item = &'a Arc<str>>,
) -> Option<WantedName> {
    let name = host.into_dns_name()?;
    Some(WantedName {
        name,
        namespaces: namespaces.cloned().collect(),
    })
}

/// Endpoints of an external host that may be dialled. Errors are reported for each of its references.
fn of_host(
    host: &ExternalHost,
    places: impl Iterator<Item = (ObjectRef, String)>,
    cluster: &ObjectCache,
    checker: &AddressChecker<'_>,
    reports: &mut Vec<Report>,
) -> Vec<Endpoint> {
    let resolved = host.endpoints(cluster.resolution(&host.name), checker);
    let is_useless = resolved.endpoints.is_empty();
    let (severity, consequence) = match is_useless {
        true => (Severity::Error, "no requests are sent to it"),
        false => (Severity::Warning, "the other addresses are used"),
    };
    for (object, field) in places {
        let mut reporter = Reporter::new(object, reports);
        for (code, reason) in &resolved.refused {
            reporter.report(*code, severity, field.clone(), reason.clone(), consequence);
        }
        if let Some(failure) = &resolved.failure {
            let consequence = if is_useless {
                consequence
            } else {
                "its last known addresses are used"
            };
            reporter.report(
                ReasonCode::RefNotFound,
                severity,
                field.clone(),
                failure.clone(),
                consequence,
            );
        }
    }
    resolved.endpoints
}
