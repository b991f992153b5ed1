//! Resolving a backend: the endpoints that it has right now.

use sluice_ir::{Backend, Endpoint};

use super::service::{Pods, find};
use super::{Origin, Source};
use crate::annotations::Balance;
use crate::dns_name::{ExternalHost, WantedName};
use crate::endpoints::{self, Wanted};
use crate::own::Judge;
use crate::report::Reporter;
use crate::{AddressPolicy, Kind, ObjectKey, ObjectRef, Options, Report, Resources, Severity};

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
    let judge = Judge::new(policy, &source.transport);
    let mut resolved = Resolved {
        backend: without_endpoints(source),
        reports: Vec::new(),
        name: None,
        leads_home: false,
    };
    match &source.origin {
        Origin::Service(service, port) => {
            match find(service, port, source, resources, (options, &judge)) {
                Ok(pods) => resolved.take_pods(pods, service, resources, &judge),
                Err(missing) => {
                    let uses = source.uses.iter();
                    uses.for_each(|usage| missing.tell(usage, &mut resolved.reports));
                }
            }
        }
        Origin::External(host) => {
            let uses = source.uses.iter();
            let places = uses.map(|usage| (usage.object.clone(), usage.field.clone()));
            resolved.backend.endpoints =
                of_host(host, places, resources, &judge, &mut resolved.reports);
            let uses = source.uses.iter();
            let namespaces = uses.map(|usage| &usage.object.key.namespace);
            resolved.name = wanted(host.clone(), namespaces);
        }
    }
    resolved.leads_home = judge.leads_home();
    resolved
}

fn without_endpoints(source: &Source) -> Backend {
    let Balance {
        load_balance,
        affinity,
        care,
        prefer_zone,
        ..
    } = source.balance.clone();
    Backend {
        transport: source.transport.clone(),
        load_balance,
        affinity,
        health: care,
        prefer_zone,
        attempts: source.attempts,
        endpoints: Vec::new(),
    }
}

impl Resolved {
    fn take_pods(
        &mut self,
        pods: Pods<'_>,
        service: &ObjectKey,
        resources: &Resources,
        judge: &Judge<'_>,
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
                endpoints::of(wanted, resources, judge, &mut self.reports)
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
                    resources,
                    judge,
                    &mut self.reports,
                )
            }
        };
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
