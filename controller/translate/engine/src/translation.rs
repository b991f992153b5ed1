//! The result of a translation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{
    Backend, BackendId, Config, Policy, RouteId, SecretId, Server, ServerName, Shared, SharedMap,
};
use sluice_syntax::DnsName;

use crate::backend_registry::BackendRegistry;
use crate::backends::{BackendRef, ReferencePrecedence};
use crate::input::SharedInputs;
use crate::route_groups::RouteGroups;
use crate::used_names::UsedNames;
use crate::wildcards::Wildcards;
use crate::{AddressPolicy, ObjectKey, Report, RouteOwner};

/// The configuration, and the reports about what could not be honoured.
///
/// It knows what it is made from, so that it can be brought up to date at the cost of what changed: see [`update`](Self::update).
#[derive(Clone, Debug, Default)]
pub struct Translation<S> {
    pub(crate) config: Config,
    pub(crate) shared_inputs: SharedInputs<S>,
    pub(crate) groups: RouteGroups,
    /// Holders of the names under wildcard hosts.
    pub(crate) wildcards: Wildcards,
    pub(crate) registry: BackendRegistry,
    pub(crate) owners: SharedMap<RouteId, RouteOwner>,
    /// Notes about objects of another controller's class.
    pub(crate) other_class: BTreeMap<ObjectKey, Report>,
    pub(crate) backend_reports: BTreeMap<BackendId, Vec<Report>>,
    /// The names that backends are made from.
    pub(crate) names: UsedNames,
    /// The address policy, with all that is Sluice's own.
    pub(crate) addresses: Arc<AddressPolicy>,
    /// Backends with an address that was refused because it is Sluice's own.
    pub(crate) with_own_addresses: BTreeSet<BackendId>,
    /// Number of references to each Secret.
    pub(crate) secret_references: BTreeMap<SecretId, usize>,
    pub(crate) flags: AppliedFlags,
    /// Policy of the last route.
    pub(crate) last_policy: Arc<Policy>,
}

/// The outcome of flags that is in the configuration and in the registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppliedFlags {
    pub(crate) secrets: BTreeSet<SecretId>,
    pub(crate) backend_refs: Vec<(ReferencePrecedence, BackendRef)>,
    pub(crate) reports: Vec<Report>,
}

/// Changes of an update, and its cost.
#[derive(Clone, Debug, Default)]
pub struct Updated {
    /// Everything was translated again.
    pub everything: bool,
    /// Objects with routes that were translated.
    pub members: usize,
    /// Backends that were resolved.
    pub resolved: usize,
    /// Servers that are not as before, as they were; without those that were made again and came out the same.
    pub servers: BTreeMap<ServerName, Option<Arc<Server>>>,
    /// Backends that are not as before, as they were.
    pub backends: BTreeMap<BackendId, Option<Arc<Backend>>>,
    /// Names that a namespace wants now, or no longer: [`Translation::namespaces_of_name`] says which do.
    pub names: BTreeSet<DnsName>,
}

impl Updated {
    /// The servers and the backends as they were, in what is otherwise served now.
    #[must_use]
    pub fn undone(&self, now: &Config) -> Config {
        let mut before = now.clone();
        restore(&mut before.servers, &self.servers);
        restore(&mut before.backends, &self.backends);
        before
    }
}

fn restore<K: Clone + Ord, V>(now: &mut Shared<K, V>, before: &BTreeMap<K, Option<Arc<V>>>) {
    for (key, value) in before {
        match value {
            Some(value) => drop(now.insert(key.clone(), Arc::clone(value))),
            None => drop(now.remove(key)),
        }
    }
}

impl<S> Translation<S> {
    /// The configuration to serve.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The object that each route is from.
    #[must_use]
    pub fn owners(&self) -> &SharedMap<RouteId, RouteOwner> {
        &self.owners
    }

    /// Number of references to each Secret of the configuration.
    #[must_use]
    pub fn secret_references(&self) -> &BTreeMap<SecretId, usize> {
        &self.secret_references
    }

    /// The address policy; the same `Arc` for as long as it does not change.
    #[must_use]
    pub fn addresses(&self) -> &Arc<AddressPolicy> {
        &self.addresses
    }

    /// Reports about what could not be honoured, in a stable order.
    #[must_use]
    pub fn reports(&self) -> Vec<&Report> {
        let mut all: Vec<&Report> = self
            .routing_reports()
            .chain(self.backend_reports.values().flatten())
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Reports about the objects themselves, without those about what is behind them.
    pub fn routing_reports(&self) -> impl Iterator<Item = &Report> {
        let of_all = self
            .shared_inputs
            .reports
            .iter()
            .chain(&self.flags.reports)
            .chain(self.other_class.values());
        let of_groups = self.groups.iter().flat_map(|group| &group.reports);
        of_all.chain(of_groups).chain(self.registry.reports())
    }

    /// The names that backends are made from what DNS says of.
    pub fn used_names(&self) -> impl Iterator<Item = &DnsName> {
        self.names.names()
    }

    /// The namespaces whose objects lead to a name.
    pub fn namespaces_of_name(&self, name: &DnsName) -> impl Iterator<Item = &Arc<str>> {
        self.names.namespaces(name)
    }

    /// True if a backend is made from what DNS says of a name.
    #[must_use]
    pub fn uses_name(&self, name: &DnsName) -> bool {
        self.names.contains(name)
    }
}
