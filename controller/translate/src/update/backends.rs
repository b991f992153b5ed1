//! Backends that something else is said about now, and what they reach.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::BackendId;

use super::set;
use crate::backends::{Resolved, resolve};
use crate::components::RouteGroupId;
use crate::overlay_canaries::{is_dead, overlay_canaries};
use crate::translation::Updated;
use crate::{Options, Resources, Translation};

impl Translation {
    /// Resolves what route groups decide together, and overlays it on those that it reaches.
    pub(crate) fn resolve(
        &mut self,
        updated: &mut Updated,
        mut stale: BTreeSet<RouteGroupId>,
        mut backends: BTreeSet<BackendId>,
        resources: &Resources,
        options: &Options,
    ) {
        let changes = self.registry.resolve();
        stale.extend(
            changes
                .canaries
                .iter()
                .flat_map(|port| self.groups.of_port(port)),
        );
        backends.extend(changes.backends);
        updated.resolved = backends.len();
        for id in backends {
            let was_dead = self
                .config
                .backends
                .get(&id)
                .is_none_or(|backend| is_dead(backend));
            self.refresh(&id, updated, resources, options);
            if was_dead
                != self
                    .config
                    .backends
                    .get(&id)
                    .is_none_or(|backend| is_dead(backend))
            {
                stale.extend(self.groups.watching(&id));
            }
        }
        for group in stale.into_iter().filter_map(|id| self.groups.get(id)) {
            for (name, server) in &group.servers {
                let server = overlay_canaries(server, group, &self.registry, &self.config.backends);
                set(&mut self.config.servers, &mut updated.servers, name, server);
            }
        }
    }

    fn refresh(
        &mut self,
        id: &BackendId,
        updated: &mut Updated,
        resources: &Resources,
        options: &Options,
    ) {
        self.backend_reports.remove(id);
        self.leading_home.remove(id);
        let Some(source) = self.registry.source(id) else {
            self.names.set(id, None, &mut updated.names);
            if let Some(before) = self.config.backends.remove(id) {
                updated.backends.insert(id.clone(), Some(before));
            }
            return;
        };
        let resolved = resolve(source, resources, options, &self.addresses);
        let Resolved {
            backend,
            reports,
            name,
            leads_home,
        } = resolved;
        if leads_home {
            self.leading_home.insert(id.clone());
        }
        self.names.set(id, name, &mut updated.names);
        if !reports.is_empty() {
            self.backend_reports.insert(id.clone(), reports);
        }
        set(
            &mut self.config.backends,
            &mut updated.backends,
            id,
            Arc::new(backend),
        );
    }
}
