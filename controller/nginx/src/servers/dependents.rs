//! Servers by the backends and Secrets that their renderings have looked at.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{BackendId, SecretId, ServerName};

use crate::tracked_config::Lookups;

/// The index.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependents {
    backends: BTreeMap<BackendId, BTreeSet<ServerName>>,
    secrets: BTreeMap<SecretId, BTreeSet<ServerName>>,
}

impl Dependents {
    pub(super) fn add(&mut self, name: &ServerName, lookups: &Lookups) {
        for id in &lookups.backends {
            let of = self.backends.entry(id.clone()).or_default();
            of.insert(name.clone());
        }
        for id in &lookups.secrets {
            let of = self.secrets.entry(id.clone()).or_default();
            of.insert(name.clone());
        }
    }

    pub(super) fn remove(&mut self, name: &ServerName, lookups: &Lookups) {
        for id in &lookups.backends {
            remove(&mut self.backends, id, name);
        }
        for id in &lookups.secrets {
            remove(&mut self.secrets, id, name);
        }
    }

    pub(super) fn of_backend(&self, id: &BackendId) -> impl Iterator<Item = &ServerName> {
        self.backends.get(id).into_iter().flatten()
    }

    pub(super) fn of_secret(&self, id: &SecretId) -> impl Iterator<Item = &ServerName> {
        self.secrets.get(id).into_iter().flatten()
    }
}

fn remove<K: Ord>(index: &mut BTreeMap<K, BTreeSet<ServerName>>, id: &K, name: &ServerName) {
    if let Some(of) = index.get_mut(id) {
        of.remove(name);
        if of.is_empty() {
            index.remove(id);
        }
    }
}
