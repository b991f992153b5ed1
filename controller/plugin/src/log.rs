//! The history of the tables, as the filter's long-poll reads it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

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
        json: Arc<[u8]>,
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
    encoded: HashMap<String, Arc<[u8]>>,
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
            return self.document(Arc::clone(known));
        }
        let tables = match base {
            Some(step) => Tables::Delta(self.delta(step)),
            None => Tables::Snapshot(self.snapshot()),
        };
        let document: Arc<[u8]> = PluginConfig::with_tables(tables).to_json().into();
        self.encoded.insert(question, Arc::clone(&document));
        self.document(document)
    }

    fn document(&self, json: Arc<[u8]>) -> PollResponse {
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
mod tests {
    use super::*;

    fn config(endpoints: &[(&str, &[&str])]) -> ir::Config {
        let backend = |addresses: &[&str]| ir::Backend {
            endpoints: addresses
                .iter()
                .map(|a| ir::Endpoint::at(a.parse().unwrap()))
                .collect(),
            ..ir::Backend::default()
        };
        let backends = endpoints.iter().map(|(id, a)| {
            (
                ir::BackendId::new(format!("n/{id}/80")),
                Arc::new(backend(a)),
            )
        });
        ir::Config {
            backends: backends.collect(),
            ..ir::Config::default()
        }
    }

    fn document(answer: &PollResponse) -> Tables {
        let PollResponse::Document { json: bytes, .. } = answer else {
            panic!("{answer:?}")
        };
        PluginConfig::parse(bytes).unwrap().tables.unwrap()
    }

    #[test]
    fn the_version_is_the_content_not_the_way_to_it() {
        let (mut straight, mut detour) = (Log::default(), Log::default());
        straight.replace(&config(&[("a", &["10.0.0.1:80"])]));
        detour.replace(&config(&[("b", &["10.0.0.9:80"])]));
        detour.replace(&config(&[("a", &["10.0.0.1:80"])]));
        assert_eq!(straight.version(), detour.version());
    }

    #[test]
    fn another_host_table_is_another_version_with_nothing_in_it() {
        let (mut log, config) = (Log::default(), config(&[("a", &["10.0.0.1:80"])]));
        log.advance_with_host_table(&ir::Config::default(), &config, Some(1));
        let before = log.version();
        assert!(!log.advance_with_host_table(&config, &config, Some(1)) && !log.replace(&config));
        assert!(log.advance_with_host_table(&config, &config, Some(2)));
        let expected = wire::Delta::between(before, log.version());
        assert_eq!(document(&log.answer(Some(before))), Tables::Delta(expected));
    }

    #[test]
    fn a_worker_one_step_behind_gets_what_changed() {
        let mut log = Log::default();
        log.replace(&config(&[("a", &["10.0.0.1:80"]), ("b", &["10.0.0.2:80"])]));
        let before = log.version();
        assert_eq!(log.answer(Some(before)), PollResponse::Current);
        log.replace(&config(&[("b", &["10.0.0.3:80"])]));
        let Tables::Delta(delta) = document(&log.answer(Some(before))) else {
            panic!("a delta")
        };
        assert_eq!(delta.base, before);
        assert_eq!(delta.removed_backends, ["n/a/80"]);
        assert_eq!(delta.backends.keys().collect::<Vec<_>>(), ["n/b/80"]);
    }

    #[test]
    fn a_stranger_gets_everything() {
        let mut log = Log::default();
        log.replace(&config(&[("a", &["10.0.0.1:80"])]));
        for since in [None, Some(Version::new(1, 42))] {
            assert!(matches!(document(&log.answer(since)), Tables::Snapshot(_)));
        }
    }

    #[test]
    fn a_change_that_changes_nothing_is_no_publication() {
        let mut log = Log::default();
        let config = config(&[("a", &["10.0.0.1:80"])]);
        assert!(log.replace(&config));
        assert!(!log.replace(&config));
        assert!(!log.refresh(&config, config.backends.keys()));
    }

    #[test]
    fn what_both_share_need_not_be_looked_at() {
        let (mut short, mut long) = (Log::default(), Log::default());
        let name = ir::ServerName::parse("a.test").unwrap();
        let leading = |service: &str| {
            let mut config = config(&[("a", &["10.0.0.1:80"]), ("b", &["10.0.0.2:80"])]);
            let id = ir::BackendId::new(format!("n/{service}/80"));
            let path = ir::PathMatch::Prefix("/".to_owned());
            let route = ir::HttpRoute::new(&name, path, ir::Action::to(id), Arc::default());
            let server = ir::Server {
                routes: vec![route],
                ..ir::Server::default()
            };
            config.servers.insert(name.clone(), server.into());
            config
        };
        let mut before = ir::Config::default();
        let steps = [leading("a"), leading("b"), config(&[("c", &[])])];
        for now in steps {
            assert_eq!(short.advance(&before, &now), long.replace(&now));
            assert_eq!(
                (short.version(), short.snapshot()),
                (long.version(), long.snapshot())
            );
            assert!(!short.advance(&now, &now.clone()));
            before = now;
        }
    }

    #[test]
    fn a_worker_beyond_the_history_gets_everything() {
        let mut log = Log::default();
        let first = log.version();
        for n in 0..=HISTORY {
            log.replace(&config(&[(
                "a",
                &[&format!("10.0.{}.{}:80", n / 256, n % 256)],
            )]));
        }
        assert!(matches!(
            document(&log.answer(Some(first))),
            Tables::Snapshot(_)
        ));
    }
}
