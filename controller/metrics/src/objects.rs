//! Objects of tenants that something is wrong with: Ingresses that lead to no endpoints, Services whose endpoints fail.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use sluice_ir::Backend;
use sluice_translate::{Kind, ObjectKey, Snapshot, ids};

use super::budget;
use super::label::Label;
use super::registry::Registry;
use super::series::{Limit, Series};

/// The handles are shared with the registry.
pub(super) struct Objects {
    orphans: Series<3, f64>,
    unhealthy: Series<2, f64>,
}

impl Objects {
    pub(super) fn register(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Objects {
            orphans: orphan_gauge(registry)?,
            unhealthy: unhealthy_gauge(registry)?,
        })
    }

    /// Shows those of now, and no others.
    pub(super) fn refresh(&self, snapshot: &Snapshot) {
        self.orphans.show(orphans(snapshot));
        self.unhealthy.show(unhealthy(snapshot));
    }
}

fn orphan_gauge(registry: &Registry) -> prometheus::Result<Series<3, f64>> {
    let help = "1 for an Ingress that leads to no Service, or to one without endpoints";
    let labels = ["namespace", "ingress", "type"];
    let gauge = Series::gauge(registry, "orphan_ingress", help, labels)?;
    Ok(gauge.limited(Limit::new(
        budget::OBJECTS,
        |[namespace, ..]| namespace,
        |[_, _, kind]| [Label::other(), Label::other(), kind.clone()],
    )))
}

fn unhealthy_gauge(registry: &Registry) -> prometheus::Result<Series<2, f64>> {
    let help = "Endpoints of a Service that fail their health checks";
    let labels = ["namespace", "service"];
    let gauge = Series::gauge(registry, "unhealthy_endpoints", help, labels)?;
    Ok(gauge.limited(Limit::by_namespace(budget::OBJECTS)))
}

fn orphans(snapshot: &Snapshot) -> HashMap<[Label; 3], f64> {
    let mut all = HashMap::new();
    let mut add = |key: &ObjectKey, kind: &str| {
        let [namespace, ingress] = Label::of_object(key);
        all.insert([namespace, ingress, Label::of(kind)], 1.0);
    };
    for report in snapshot.reports() {
        if report
            .missing
            .as_ref()
            .is_some_and(|missing| missing.kind == Kind::Service)
        {
            add(&report.object.key, "no-service");
        }
    }
    let config = snapshot.config();
    for route in config.routes() {
        let Some(backend) = route.primary_backend() else {
            continue;
        };
        let leads_nowhere = |backend: &Arc<Backend>| backend.endpoints.is_empty();
        let is_empty = config.backends.get(backend).is_none_or(leads_nowhere);
        if let Some(key) = snapshot.owner(&route.id).filter(|_| is_empty) {
            add(key, "no-endpoint");
        }
    }
    all
}

/// Ports of a Service, and ways to speak to them, have the same endpoints.
fn unhealthy(snapshot: &Snapshot) -> impl Iterator<Item = ([Label; 2], f64)> {
    let mut all: BTreeMap<ObjectKey, BTreeSet<IpAddr>> = BTreeMap::new();
    let checked = snapshot.config().backends.iter();
    for (id, backend) in checked.filter(|(_, backend)| backend.health.check.is_some()) {
        let plain = backend.variant_of.as_ref().unwrap_or(id);
        let failing = backend
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.unhealthy);
        let failing: Vec<IpAddr> = failing.map(|endpoint| endpoint.address.ip()).collect();
        if let Some((service, _)) = ids::service_of(plain)
            && !failing.is_empty()
        {
            all.entry(service).or_default().extend(failing);
        }
    }
    all.into_iter()
        .map(|(service, failing)| (Label::of_object(&service), failing.len() as f64))
}
