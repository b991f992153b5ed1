//! Cache of rendered routes: only hosts that changed are rendered again.

use std::time::Instant;

use sluice_ir::Config;

use super::discovery::{Choice, Discovery};
use super::native;
use super::scopes::Scopes;
use super::table::Table;
use super::{all_but_hosts, with_composite};
use crate::{HTTP, ResourceType, Settings, Update};

/// Routes as they were rendered last.
#[derive(Clone, Debug, Default)]
pub struct RouteCache {
    choice: Choice,
    table: Option<Table>,
    scopes: Scopes,
    backends: native::RenderedBackends,
    rendered: u64,
}

impl RouteCache {
    /// Publishes the routes, some of them by `take`, and says how Envoy learns of them.
    pub(crate) fn publish(
        &mut self,
        config: &Config,
        settings: &Settings,
        now: Instant,
        update: &mut Update,
        take: &mut dyn FnMut(Update),
    ) -> Discovery {
        let discovery = self
            .choice
            .choose(config.servers.len(), settings.scopes_from, now);
        let moved = self.backends.take_moved(config);
        if self.choice.is_in_use(Discovery::Table) {
            let table = self
                .table
                .get_or_insert_with(|| Table::new(|_| true, with_composite));
            table.forget_routes_to(&moved);
            update.set(
                ResourceType::Route,
                HTTP,
                table.encode(config, all_but_hosts(config)),
            );
            self.rendered += table.take_rendered();
        } else {
            self.table = None;
            update.remove(ResourceType::Route, HTTP);
        }
        if self.choice.is_in_use(Discovery::Scopes) {
            self.scopes.publish(config, &moved, update, take);
            self.rendered += self.scopes.take_rendered();
        } else {
            self.scopes.withdraw(update);
        }
        discovery
    }

    /// True if some connection may look for its host in this way.
    #[must_use]
    pub fn is_in_use(&self, discovery: Discovery) -> bool {
        self.choice.is_in_use(discovery)
    }

    /// Number of hosts rendered so far.
    #[must_use]
    pub fn rendered(&self) -> u64 {
        self.rendered
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use envoy_types::pb::envoy::config::route::v3::{RouteConfiguration, ScopedRouteConfiguration};
    use prost::Message;
    use sluice_ir::{
        Action, Backend, BackendId, HttpRoute, LoadBalance, PathMatch, Server, ServerName,
    };

    use super::*;
    use crate::Change;
    use crate::FilterCode;

    fn insert(config: &mut Config, host: &str, path: &str, aliases: &[&str]) {
        let name = ServerName::parse(host).unwrap();
        let route = HttpRoute::new(
            &name,
            PathMatch::Prefix(path.into()),
            Action::Denied,
            Arc::default(),
        );
        let aliases = aliases
            .iter()
            .map(|alias| ServerName::parse(alias).unwrap())
            .collect();
        let server = Server {
            aliases,
            routes: vec![route],
            ..Server::default()
        };
        config.servers.insert(name, server.into());
    }

    fn remove(config: &mut Config, host: &str) {
        config.servers.remove(&ServerName::parse(host).unwrap());
    }

    fn hosts() -> Config {
        let mut config = Config::default();
        ["", "a.test", "b.test", "*.c.test"]
            .iter()
            .for_each(|host| insert(&mut config, host, "/", &[]));
        insert(&mut config, "d.test", "/", &["*.d.test", "e.test"]);
        config
    }

    fn settings(scopes_from: usize) -> Settings {
        Settings {
            scopes_from,
            ..Settings::new(FilterCode::Inline(vec![]), vec![])
        }
    }

    /// Resources published so far, and the number of hosts rendered for them.
    #[derive(Default)]
    struct Published {
        routes: RouteCache,
        resources: BTreeMap<(ResourceType, String), Vec<u8>>,
    }

    impl Published {
        fn publish(&mut self, config: &Config, scopes_from: usize) -> u64 {
            let (before, now) = (self.routes.rendered(), Instant::now());
            let (mut update, mut taken) = (Update::default(), Update::default());
            let mut take = |part| taken.merge(part);
            self.routes
                .publish(config, &settings(scopes_from), now, &mut update, &mut take);
            // Whatever the order is.
            for key in taken.changes.keys() {
                assert!(!update.changes.contains_key(key), "{key:?}");
            }
            update.merge(taken);
            for ((kind, name), change) in update.changes {
                match change {
                    Change::Set(bytes) | Change::SetFilter { wasm: bytes, .. } => {
                        drop(self.resources.insert((kind, name.to_string()), bytes));
                    }
                    Change::Remove | Change::Keep => {
                        drop(self.resources.remove(&(kind, name.to_string())));
                    }
                }
            }
            self.routes.rendered() - before
        }

        fn names(&self, kind: ResourceType) -> Vec<&str> {
            self.resources
                .keys()
                .filter(|(other, _)| *other == kind)
                .map(|(_, name)| name.as_str())
                .collect()
        }

        fn hosts_of(&self, scope: &str) -> Vec<String> {
            let bytes = &self.resources[&(ResourceType::Scope, scope.to_owned())];
            let scope = ScopedRouteConfiguration::decode(bytes.as_slice()).unwrap();
            let hosts = scope.route_configuration.unwrap().virtual_hosts;
            hosts.into_iter().map(|host| host.name).collect()
        }
    }

    const TABLE: usize = usize::MAX;
    const SCOPES: usize = 0;

    /// Hosts that change one after the other, and what each costs.
    fn steps(mut step: impl FnMut(&Config, u64)) {
        let mut config = hosts();
        step(&config, 5);
        step(&config.clone(), 0);
        insert(&mut config, "a.test", "/else", &[]);
        step(&config, 1);
        // The wildcards, one of them an alias, have its routes, too.
        insert(&mut config, "", "/else", &[]);
        step(&config, 3);
        remove(&mut config, "b.test");
        step(&config, 0);
        config
            .global
            .hidden_headers
            .push(sluice_ir::HeaderName::from_static("server"));
        step(&config, 4);
    }

    #[test]
    fn a_table_is_what_would_be_rendered_and_only_what_changed_is_rendered() {
        let mut published = Published::default();
        steps(|config, costs| {
            assert_eq!(published.publish(config, TABLE), costs);
            let table = &published.resources[&(ResourceType::Route, HTTP.to_owned())];
            let table = RouteConfiguration::decode(table.as_slice()).unwrap();
            assert_eq!(table, crate::render::routes(config));
            assert!(published.names(ResourceType::Scope).is_empty());
        });
    }

    #[test]
    fn scopes_that_were_changed_one_by_one_are_those_that_are_rendered_at_once() {
        let mut published = Published::default();
        steps(|config, _| {
            published.publish(config, SCOPES);
            let mut at_once = Published::default();
            at_once.publish(config, SCOPES);
            assert_eq!(published.resources, at_once.resources);
        });
    }

    #[test]
    fn an_exact_host_has_a_scope_and_all_others_have_one() {
        let mut published = Published::default();
        published.publish(&hosts(), SCOPES);
        assert_eq!(
            published.names(ResourceType::Scope),
            ["_", "a.test", "b.test", "d.test", "e.test"]
        );
        assert_eq!(published.names(ResourceType::Route), [""; 0]);
        assert_eq!(published.hosts_of("e.test"), ["e.test"]);
        assert_eq!(published.hosts_of("_"), ["_", "*.d.test", "*.c.test"]);
    }

    #[test]
    fn a_changed_host_is_the_only_one_that_is_rendered() {
        let (mut published, mut config) = (Published::default(), hosts());
        published.publish(&config, SCOPES);
        insert(&mut config, "a.test", "/else", &[]);
        assert_eq!(published.publish(&config, SCOPES), 1);
        insert(&mut config, "a.test", "/else", &["f.test"]);
        assert_eq!(published.publish(&config, SCOPES), 2);
        assert!(published.names(ResourceType::Scope).contains(&"f.test"));
        // A name goes from one host to another.
        insert(&mut config, "a.test", "/else", &[]);
        insert(&mut config, "f.test", "/", &[]);
        published.publish(&config, SCOPES);
        assert!(published.names(ResourceType::Scope).contains(&"f.test"));
    }

    #[test]
    fn whoever_grows_is_served_in_both_ways_for_a_while() {
        let (mut published, config) = (Published::default(), hosts());
        published.publish(&config, TABLE);
        published.publish(&config, SCOPES);
        assert_eq!(published.names(ResourceType::Route), [HTTP]);
        assert_eq!(published.names(ResourceType::Scope).len(), 5);
    }

    /// All small sites: which hosts there are, whether one has an alias, and what its backend needs of the filter.
    fn sites() -> Vec<Config> {
        let to = |config: &mut Config, host: &str, backend: &str, aliases: &[&str]| {
            insert(config, host, "/", aliases);
            let name = ServerName::parse(host).unwrap();
            let server = Arc::make_mut(config.servers.get_mut(&name).unwrap());
            server.routes[0].action = Action::to(BackendId::new(backend));
        };
        let by_draws = Backend {
            load_balance: LoadBalance::Named("ewma"),
            ..Backend::default()
        };
        let mut sites = vec![Config::default()];
        for aliases in [None, Some(&[][..]), Some(&["e.test"][..])] {
            for (catch_all, wildcard) in [(false, false), (false, true), (true, true)] {
                for backend in [None, Some(Backend::default()), Some(by_draws.clone())] {
                    let mut config = Config::default();
                    if let Some(aliases) = aliases {
                        to(&mut config, "a.test", "x", aliases);
                    }
                    if catch_all {
                        to(&mut config, "", "x", &[]);
                    }
                    if wildcard {
                        to(&mut config, "*.w.test", "y", &[]);
                    }
                    let backend = backend.map(|it| (BackendId::new("x"), Arc::new(it)));
                    config.backends = backend.into_iter().collect();
                    sites.push(config);
                }
            }
        }
        sites
    }

    #[test]
    fn whatever_changes_at_once_what_is_published_is_what_would_be_rendered() {
        let sites = sites();
        for scopes_from in [TABLE, SCOPES] {
            for (from, before) in sites.iter().enumerate() {
                for (to, now) in sites.iter().enumerate() {
                    let (mut published, mut at_once) = (Published::default(), Published::default());
                    published.publish(before, scopes_from);
                    published.publish(now, scopes_from);
                    at_once.publish(now, scopes_from);
                    let same = published.resources == at_once.resources;
                    assert!(same, "from site {from} to {to}, scopes from {scopes_from}");
                }
            }
        }
    }
}
