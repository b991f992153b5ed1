//! Addresses that become Sluice's own, or cease to be.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_ir::{Backend, BackendId};

use crate::input::RouteInput;
use crate::own_addresses::{AddressChecker, effective_policy, may_change};
use crate::{AddressPolicy, Changes, Provenance, Translation};

impl<S> Translation<S> {
    /// Updates the address policy, and returns the backends whose endpoints that can concern. A pass over all endpoints costs
    /// less than an index that every update would have to keep, and is rare.
    pub(super) fn update_own_addresses<I: RouteInput<Settings = S>>(
        &mut self,
        changes: &Changes,
        input: &I,
    ) -> BTreeSet<BackendId> {
        if !may_change(changes, input.upstream_options(), &input.l4_config_maps()) {
            return BTreeSet::new();
        }
        let now = policy(input);
        if *self.addresses == now {
            return BTreeSet::new();
        }
        let is_own = |backend: &Backend| {
            let checker = AddressChecker::new(&now, &backend.transport);
            backend.endpoints.iter().any(|at| {
                checker.check(at.address, Provenance::Written).is_err() && checker.found_own()
            })
        };
        let mut concerned = self.with_own_addresses.clone();
        let new = self
            .config
            .backends
            .iter()
            .filter(|(_, backend)| is_own(backend));
        concerned.extend(new.map(|(id, _)| id.clone()));
        self.addresses = Arc::new(now);
        concerned
    }

    /// Sets the address policy.
    pub(super) fn set_own_addresses<I: RouteInput<Settings = S>>(&mut self, input: &I) {
        self.addresses = Arc::new(policy(input));
    }
}

fn policy<I: RouteInput>(input: &I) -> AddressPolicy {
    effective_policy(input.cluster(), input.upstream_options(), input.l4_ports())
}
