//! Backends whose references, Services or endpoints have changed, and the routes that they reach.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::BackendId;

use super::set;
use crate::Translation;
use crate::backends::{Resolved, resolve};
use crate::input::RouteInput;
use crate::overlay_canaries::{is_dead, overlay_canaries};
use crate::route_groups::RouteGroupId;
use crate::translation::Updated;

impl<S> Translation<S> {
    /// Resolves what route groups decide together, and overlays it on the routes that it reaches.
    pub(super) fn resolve<I: RouteInput<Settings = S>>(
        &mut self,
        updated: &mut Updated,
        mut stale: BTreeSet<RouteGroupId>,
        mut backends: BTreeSet<BackendId>,
        input: &I,
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
            self.refresh(&id, updated, input);
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

    fn refresh<I: RouteInput<Settings = S>>(
        &mut self,
        id: &BackendId,
        updated: &mut Updated,
        input: &I,
    ) {
        self.backend_reports.remove(id);
        self.with_own_addresses.remove(id);
        let Some(source) = self.registry.source(id) else {
            self.names.set(id, None, &mut updated.names);
            if let Some(before) = self.config.backends.remove(id) {
                updated.backends.insert(id.clone(), Some(before));
            }
            return;
        };
        let resolved = resolve(
            id,
            source,
            input.cluster(),
            input.upstream_options(),
            &self.addresses,
        );
        let Resolved {
            backend,
            reports,
            name,
            found_own,
        } = resolved;
        if found_own {
            self.with_own_addresses.insert(id.clone());
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
