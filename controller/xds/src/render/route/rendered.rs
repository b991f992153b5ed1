//! The routes, encoded, with a memory of each host: only hosts that changed are rendered again.

use std::collections::BTreeMap;
use std::sync::Arc;

use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
use prost::Message;
use sluice_ir::{Config, Edge, Server, ServerName};

use super::{all_but_hosts, hosts_of};
use crate::render::HTTP;

/// The field `virtual_hosts` of a `RouteConfiguration`.
const VIRTUAL_HOSTS: u32 = 2;

/// What was rendered last, host by host.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    hosts: BTreeMap<ServerName, Host>,
    edge: Edge,
    catch_all: Option<Arc<Server>>,
    rendered: u64,
}

#[derive(Clone, Debug)]
struct Host {
    server: Arc<Server>,
    /// As fields of the `RouteConfiguration`.
    bytes: Vec<u8>,
}

impl Routes {
    /// The encoded `RouteConfiguration`, to the byte what encoding [`routes`](super::routes) gives.
    pub(crate) fn encode(&mut self, config: &Config) -> Vec<u8> {
        self.forget(config);
        // Fields are written in the order of their numbers: the name is the first, the hosts are the second.
        let name = RouteConfiguration { name: HTTP.to_owned(), ..RouteConfiguration::default() };
        let mut bytes = name.encode_to_vec();
        for (name, server) in &config.servers {
            let known = self.hosts.get(name).is_some_and(|host| host.server == *server);
            if !known {
                let mut host = Host { server: Arc::clone(server), bytes: Vec::new() };
                for one in hosts_of(name, server, config) {
                    prost::encoding::message::encode(VIRTUAL_HOSTS, &one, &mut host.bytes);
                }
                self.rendered += 1;
                self.hosts.insert(name.clone(), host);
            }
            if let Some(host) = self.hosts.get(name) {
                bytes.extend_from_slice(&host.bytes);
            }
        }
        let rest = RouteConfiguration { name: String::new(), ..all_but_hosts(config) };
        rest.encode(&mut bytes).ok();
        bytes
    }

    /// How many hosts were rendered so far.
    #[must_use]
    pub fn rendered(&self) -> u64 {
        self.rendered
    }

    /// Forgets what is gone, and what does not follow from its server alone.
    fn forget(&mut self, config: &Config) {
        self.hosts.retain(|name, _| config.servers.contains_key(name));
        if self.edge != config.edge {
            self.hosts.clear();
            self.edge = config.edge.clone();
        }
        let catch_all = config.servers.get(&ServerName::CatchAll);
        if self.catch_all.as_ref() != catch_all {
            // Wildcard hosts leave to it what they do not take.
            self.hosts
                .retain(|name, _| !matches!(name, ServerName::Wildcard(_)) && !has_wildcard(config, name));
            self.catch_all = catch_all.cloned();
        }
    }
}

fn has_wildcard(config: &Config, name: &ServerName) -> bool {
    let aliases = config.servers.get(name).into_iter().flat_map(|server| &server.aliases);
    aliases.into_iter().any(|alias| matches!(alias, ServerName::Wildcard(_)))
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
