//! The history of the tables, as the filter's long-poll reads it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use bytes::Bytes;
use sluice_filter_config::{self as wire, PluginConfig, Tables, Version};
use sluice_ir as ir;

use crate::convert;
use crate::step::Step;
use crate::table::Table;

/// Publications remembered. At 100 changes a second a worker may be away for ten seconds and still get a delta.
const HISTORY: usize = 1024;

/// Response to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollResponse {
    /// The version asked with is the current one: wait.
    Current,
    /// A document to send, encoded.
    Document {
        /// The document.
        json: Bytes,
        /// Hash of the index of nginx's host table that goes with it.
        host_table_hash: Option<u128>,
    },
}

/// The current tables and how they came about.
///
/// The content hash of a version is the sum of the hashes of its entries, so that a change costs what changed.
#[derive(Debug, Default)]
pub struct Log {
    sequence: u64,
    routes: Table<wire::Route>,
    backends: Table<wire::Backend>,
    hosts: Table<()>,
    names_hosts: bool,
    /// `None`: no nginx with a host table.
    host_table_hash: Option<u128>,
    steps: VecDeque<Step>,
    encoded: HashMap<String, Bytes>,
}

impl Log {
    /// The current version.
    #[must_use]
    pub fn version(&self) -> Version {
        let content = self.routes.content().wrapping_add(self.backends.content());
        Version::new(
            self.sequence,
            content
                .wrapping_add(self.hosts.content())
                .wrapping_add(self.host_table_hash.unwrap_or_default()),
        )
    }

    /// Includes the hosts in publications from now on, for an Envoy that looks for each by itself.
    pub fn name_hosts(&mut self, yes: bool) {
        self.names_hosts = yes;
    }

    /// Publishes a whole configuration; `false` when that changes nothing.
    pub fn replace(&mut self, config: &ir::Config) -> bool {
        let base = self.version();
        let routes = self.routes.replace(convert::routes(config));
        let backends = self.backends.replace(convert::backends(config));
        let hosts = self.all_hosts(config);
        self.record(Step {
            base,
            routes,
            backends,
            hosts,
            host_table_changed: false,
        })
    }

    /// Publishes a whole configuration, after that of `before`; `false` when that changes nothing. The same as
    /// [`replace`](Self::replace), but what both configurations share is not looked at.
    pub fn advance(&mut self, before: &ir::Config, now: &ir::Config) -> bool {
        self.advance_with_host_table(before, now, self.host_table_hash)
    }

    /// The same, to an nginx whose host table has this hash. Another table is another version, even if the filter has nothing new:
    /// workers look at their table when they get one.
    pub fn advance_with_host_table(
        &mut self,
        before: &ir::Config,
        now: &ir::Config,
        host_table_hash: Option<u128>,
    ) -> bool {
        let changed_backends: Vec<_> = ir::changed(&before.backends, &now.backends)
            .map(|changed| changed.name)
            .collect();
        let base = self.version();
        let former = std::mem::replace(&mut self.host_table_hash, host_table_hash);
        let servers: Vec<_> = ir::changed(&before.servers, &now.servers)
            .map(|changed| changed.name)
            .collect();
        let has_other_listeners = before.listeners != now.listeners;
        let of = |config: &ir::Config| -> BTreeMap<String, wire::Route> {
            let servers = servers.iter().filter_map(|name| config.servers.get(*name));
            let listeners = config.listeners.values().filter(|_| has_other_listeners);
            let servers = servers.chain(listeners.flat_map(|listener| listener.servers.values()));
            let forwarding = servers.flat_map(|server| convert::forwarding(server));
            forwarding.chain(convert::asked(config)).collect()
        };
        let (was, mut is) = (of(before), of(now));
        let mut routes: BTreeSet<String> = was.into_keys().chain(is.keys().cloned()).collect();
        routes.retain(|id| self.routes.set(id, is.remove(id)));
        let backends = self.set_backends(now, changed_backends);
        // All, when there are none yet, or unused ones are left.
        let hosts = if self.names_hosts == self.hosts.ids().next().is_none() {
            self.all_hosts(now)
        } else {
            self.set_hosts(before, now, &servers)
        };
        self.record(Step {
            base,
            routes,
            backends,
            hosts,
            host_table_changed: former != host_table_hash,
        })
    }

    /// Publishes what became of these backends; `false` when that changes nothing.
    pub fn refresh<'a>(
        &mut self,
        config: &ir::Config,
        backends: impl IntoIterator<Item = &'a ir::BackendId>,
    ) -> bool {
        let base = self.version();
        let backends = self.set_backends(config, backends);
        self.record(Step {
            base,
            routes: BTreeSet::new(),
            backends,
            hosts: BTreeSet::new(),
            host_table_changed: false,
        })
    }

    /// Names those that are not as before.
    fn set_backends<'a>(
        &mut self,
        config: &ir::Config,
        backends: impl IntoIterator<Item = &'a ir::BackendId>,
    ) -> BTreeSet<String> {
        let mut touched = BTreeSet::new();
        for id in backends {
            let backend = config.backends.get(id);
            let backend = backend.map(|backend| convert::backend(id, backend));
            if self.backends.set(id.as_str(), backend) {
                touched.insert(id.to_string());
            }
        }
        touched
    }

    /// Makes all hosts those of this configuration, or none.
    fn all_hosts(&mut self, config: &ir::Config) -> BTreeSet<String> {
        let servers = config.servers.iter().filter(|_| self.names_hosts);
        let names = servers.flat_map(|(name, server)| convert::exact_names(name, server));
        self.hosts.replace(names.map(|name| (name, ())))
    }

    /// Names those that are new or gone; only these servers are not as before.
    fn set_hosts(
        &mut self,
        before: &ir::Config,
        now: &ir::Config,
        servers: &[&ir::ServerName],
    ) -> BTreeSet<String> {
        if !self.names_hosts {
            return BTreeSet::new();
        }
        let of = |config: &ir::Config| -> BTreeSet<String> {
            let servers = servers
                .iter()
                .filter_map(|name| Some((*name, config.servers.get(*name)?)));
            servers
                .flat_map(|(name, server)| convert::exact_names(name, server))
                .collect()
        };
        let (was, is) = (of(before), of(now));
        let mut touched: BTreeSet<String> = was.union(&is).cloned().collect();
        touched.retain(|name| self.hosts.set(name, is.contains(name).then_some(())));
        touched
    }

    fn record(&mut self, step: Step) -> bool {
        if step.is_empty() {
            return false;
        }
        self.sequence += 1;
        self.encoded.clear();
        if self.steps.len() == HISTORY {
            self.steps.pop_front();
        }
        self.steps.push_back(step);
        true
    }

    /// Response that brings a worker from `since` up to date. The same question is encoded once, however many ask it.
    pub fn answer(&mut self, since: Option<Version>) -> PollResponse {
        if since == Some(self.version()) {
            return PollResponse::Current;
        }
        let base =
            since.and_then(|version| self.steps.iter().rposition(|step| step.base == version));
        let question = base.map_or_else(String::new, |step| step.to_string());
        if let Some(known) = self.encoded.get(&question) {
            return self.document(known.clone());
        }
        let tables = match base {
            Some(step) => Tables::Delta(self.delta(step)),
            None => Tables::Snapshot(wire::SnapshotOf {
                version: self.version(),
                routes: self.routes.as_json(),
                backends: self.backends.as_json(),
                hosts: self.hosts.ids().cloned().collect(),
            }),
        };
        let document = Bytes::from(PluginConfig::with_tables(tables).to_json());
        self.encoded.insert(question, document.clone());
        self.document(document)
    }

    fn document(&self, json: Bytes) -> PollResponse {
        PollResponse::Document {
            json,
            host_table_hash: self.host_table_hash,
        }
    }

    /// Everything at the current version.
    #[must_use]
    pub fn snapshot(&self) -> wire::Snapshot {
        wire::Snapshot {
            version: self.version(),
            routes: self.routes.values(),
            backends: self.backends.values(),
            hosts: self.hosts.ids().cloned().collect(),
        }
    }

    /// Everything that the steps from `first` on touched, as it is now.
    fn delta(&self, first: usize) -> wire::Delta {
        let steps = || self.steps.range(first..);
        let base = steps()
            .next()
            .map_or_else(|| self.version(), |step| step.base);
        let (routes, removed_routes) = self
            .routes
            .pick(steps().flat_map(|step| &step.routes).collect());
        let (backends, removed_backends) = self
            .backends
            .pick(steps().flat_map(|step| &step.backends).collect());
        let (hosts, removed_hosts) = self
            .hosts
            .pick(steps().flat_map(|step| &step.hosts).collect());
        wire::Delta {
            base,
            version: self.version(),
            routes,
            backends,
            removed_routes,
            removed_backends,
            hosts: hosts.into_keys().collect(),
            removed_hosts,
        }
    }
}

#[cfg(test)]
mod tests;
