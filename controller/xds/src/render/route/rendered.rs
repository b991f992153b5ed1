//! The routes, encoded, with a memory of each host: only hosts that changed are rendered again.

use std::collections::BTreeMap;
use std::sync::Arc;

use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
use prost::Message;
use sluice_ir::{Changed, Config, Edge, Server, ServerName, Shared, changed};

use super::{all_but_hosts, hosts_of};
use crate::render::HTTP;

/// The field `virtual_hosts` of a `RouteConfiguration`.
const VIRTUAL_HOSTS: u32 = 2;

/// What was rendered last, host by host.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    servers: Shared<ServerName, Server>,
    /// Each as fields of the `RouteConfiguration`.
    hosts: BTreeMap<ServerName, Vec<u8>>,
    edge: Edge,
    catch_all: Option<Arc<Server>>,
    rendered: u64,
}

impl Routes {
    /// The encoded `RouteConfiguration`, to the byte what encoding [`routes`](super::routes) gives.
    pub(crate) fn encode(&mut self, config: &Config) -> Vec<u8> {
        self.forget(config);
        self.render(config);
        // Fields are written in the order of their numbers: the name is the first, the hosts are the second.
        let name = RouteConfiguration { name: HTTP.to_owned(), ..RouteConfiguration::default() };
        let mut bytes = name.encode_to_vec();
        bytes.reserve(self.hosts.values().map(Vec::len).sum());
        self.hosts.values().for_each(|host| bytes.extend_from_slice(host));
        let rest = RouteConfiguration { name: String::new(), ..all_but_hosts(config) };
        rest.encode(&mut bytes).ok();
        bytes
    }

    /// How many hosts were rendered so far.
    #[must_use]
    pub fn rendered(&self) -> u64 {
        self.rendered
    }

    /// Renders the hosts that are not as before, and forgets those that are gone.
    fn render(&mut self, config: &Config) {
        for Changed { name, now, .. } in changed(&self.servers, &config.servers) {
            let Some(server) = now else {
                self.hosts.remove(name);
                continue;
            };
            let mut host = Vec::new();
            for one in hosts_of(name, server, config) {
                prost::encoding::message::encode(VIRTUAL_HOSTS, &one, &mut host);
            }
            host.shrink_to_fit();
            self.rendered += 1;
            self.hosts.insert(name.clone(), host);
        }
        self.servers = config.servers.clone();
    }

    /// Forgets what does not follow from its server alone.
    fn forget(&mut self, config: &Config) {
        if self.edge != config.edge {
            self.servers.clear();
            self.hosts.clear();
            self.edge = config.edge.clone();
        }
        let catch_all = config.servers.get(&ServerName::CatchAll);
        if self.catch_all.as_ref() != catch_all {
            // Wildcard hosts leave to it what they do not take.
            let others = self.servers.iter().filter(|(name, server)| !has_wildcard(name, server));
            self.servers = others.map(|(name, server)| (name.clone(), Arc::clone(server))).collect();
            self.hosts.retain(|name, _| self.servers.contains_key(name));
            self.catch_all = catch_all.cloned();
        }
    }
}

fn has_wildcard(name: &ServerName, server: &Server) -> bool {
    std::iter::once(name).chain(&server.aliases).any(|name| matches!(name, ServerName::Wildcard(_)))
}

#[cfg(test)]
mod tests {
    use sluice_ir::{Action, Location, PathMatch};

    use super::*;

    fn insert(config: &mut Config, host: &str, path: &str, aliases: &[&str]) {
        let name = ServerName::parse(host).unwrap();
        let location = Location::new(&name, PathMatch::Prefix(path.into()), Action::Denied, Arc::default());
        let aliases = aliases.iter().map(|alias| ServerName::parse(alias).unwrap()).collect();
        let server = Server { aliases, locations: vec![location], ..Server::default() };
        config.servers.insert(name, server.into());
    }

    #[test]
    fn what_is_remembered_is_what_would_be_rendered_and_only_what_changed_is_rendered() {
        let (mut config, mut routes) = (Config::default(), Routes::default());
        let hosts = ["", "a.test", "b.test", "*.c.test"];
        hosts.iter().for_each(|host| insert(&mut config, host, "/", &[]));
        insert(&mut config, "d.test", "/", &["*.d.test", "e.test"]);
        let mut step = |config: &Config, costs: u64| {
            let before = routes.rendered();
            assert_eq!(routes.encode(config), super::super::routes(config).encode_to_vec());
            assert_eq!(routes.rendered() - before, costs);
        };
        step(&config, 5);
        step(&config.clone(), 0);
        insert(&mut config, "a.test", "/else", &[]);
        step(&config, 1);
        // The wildcards, one of them an alias, have its routes, too.
        insert(&mut config, "", "/else", &[]);
        step(&config, 3);
        config.servers.remove(&ServerName::parse("b.test").unwrap());
        step(&config, 0);
        config.edge.hidden_headers.push("server".to_owned());
        step(&config, 4);
    }
}
