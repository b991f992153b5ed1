//! Events, names of upstreams, health of endpoints, and the translation that follows from them.

use std::collections::BTreeSet;
use std::sync::{Arc, RwLockWriteGuard};
use std::time::Duration;

use sluice_ir::BackendId;
use sluice_source::{Event, Problem};
use sluice_translate::{
    Change, Changes, DnsName, EndpointHealth, Ingresses, Resolution, Resources, Updated,
};
use tokio::task::block_in_place;
use tokio::time::{Instant, timeout_at};
use tracing::{info, warn};

use crate::Publisher;

/// Longest wait for the addresses of external hosts before the first publication.
const FIRST_RESOLUTION_TIMEOUT: Duration = Duration::from_secs(2);

impl Publisher {
    /// The objects, to apply changes. The webhook may be judging by them for a while, and requests are authorized meanwhile.
    fn resources_mut(&self) -> RwLockWriteGuard<'_, Resources> {
        block_in_place(|| self.view.resources_mut())
    }

    pub(crate) fn take(&mut self, events: Vec<Event>, pending: &mut Changes) {
        let view = self.view.clone();
        let mut resources = block_in_place(|| view.resources_mut());
        for event in events {
            let change = match event {
                Event::Apply(object) => resources.apply(object),
                Event::Delete(kind, key) => resources.delete(kind, &key),
                Event::IngressClassesForbidden => {
                    resources.forbid_ingress_classes();
                    Change::Everything
                }
                Event::Machines(addresses) => resources.know_machines(addresses),
                Event::Problem(problem) => {
                    log_problem(&problem);
                    Change::Nothing
                }
                Event::Ready => {
                    self.ready = true;
                    Change::Nothing
                }
            };
            pending.add(change);
        }
    }

    pub(crate) fn take_resolution(
        &self,
        name: DnsName,
        resolution: Resolution,
        pending: &mut Changes,
    ) {
        // An answer about a name that was forgotten meanwhile.
        if self.translation.uses_name(&name) {
            pending.add(self.resources_mut().resolve(name, resolution));
        }
    }

    pub(crate) fn take_health(
        &self,
        backend: BackendId,
        health: EndpointHealth,
        pending: &mut Changes,
    ) {
        // A result of checks that have ended meanwhile.
        if self.checks.is_followed(&backend) {
            pending.add(self.resources_mut().set_health(backend, health));
        }
    }

    /// Checks the endpoints of the backends that ask for it, as they are now.
    pub(crate) fn follow_endpoints(&mut self, updated: &Updated) {
        self.checks.set_address_policy(self.translation.addresses());
        for id in updated.backends.keys() {
            let backend = self.translation.config().backends.get(id);
            let has_ended = self.checks.follow(id, backend.map(AsRef::as_ref));
            if has_ended {
                self.resources_mut().forget_health(id);
            }
        }
    }

    /// Follows names that are used, and no longer others.
    pub(crate) fn follow_names(&self, updated: &Updated) {
        for name in &updated.names {
            let namespaces = self.translation.namespaces_of_name(name);
            let namespaces = namespaces.map(|namespace| namespace.to_string());
            self.names.follow(name.clone(), namespaces.collect());
            if !self.translation.uses_name(name) {
                self.resources_mut().forget(name);
            }
        }
    }

    /// A data plane that serves already must not lose the hosts outside of the cluster because its controller has only just
    /// started: so the first publication waits until their names have been looked up, or for a moment.
    pub(crate) async fn wait_for_names(&mut self) {
        let mut waiting: BTreeSet<DnsName> = self.translation.used_names().cloned().collect();
        let (mut changes, deadline) = (
            Changes::default(),
            Instant::now() + FIRST_RESOLUTION_TIMEOUT,
        );
        while !waiting.is_empty() {
            let Ok((name, resolution)) = timeout_at(deadline, self.names.next()).await else {
                warn!("{} names of upstreams are not resolved yet", waiting.len());
                break;
            };
            waiting.remove(&name);
            changes.add(self.resources_mut().resolve(name, resolution));
        }
        if !changes.is_empty() {
            let updated = block_in_place(|| self.translate(&changes));
            self.follow_names(&updated);
            self.follow_endpoints(&updated);
        }
    }

    /// Brings the translation up to date.
    pub(crate) fn translate(&mut self, changes: &Changes) -> Updated {
        #[cfg(debug_assertions)]
        sluice_tasks::fault::hold("translation");
        let updated = self.translation.update(
            changes,
            &Ingresses::new(&self.view.resources(), &self.options),
        );
        self.served
            .authorizer
            .set_address_policy(self.translation.addresses());
        self.snapshot = Arc::new(self.translation.snapshot());
        self.view.show(Arc::clone(&self.snapshot));
        self.metrics.translated(&updated);
        updated
    }
}

fn log_problem(problem: &Problem) {
    if problem.harmless {
        info!("{problem}");
    } else {
        warn!("{problem}");
    }
}
