//! Hosts in one encoded route configuration, with a memory of each: only hosts that changed are rendered again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use envoy_types::pb::envoy::config::route::v3::{RouteConfiguration, VirtualHost};
use prost::Message;
use sluice_ir::{BackendId, Changed, Config, GlobalConfig, Server, ServerName, Shared, changed};

use super::{hosts_of, native};
use crate::render::proto::encoded_host;

/// The field `virtual_hosts` of a `RouteConfiguration`.
pub(super) const VIRTUAL_HOSTS: u32 = 2;

/// Table as it was rendered last, host by host.
#[derive(Clone, Debug)]
pub(super) struct Table {
    takes: fn(&ServerName) -> bool,
    finish: fn(VirtualHost, &GlobalConfig) -> VirtualHost,
    servers: Shared<ServerName, Server>,
    /// Each as fields of the `RouteConfiguration`.
    hosts: BTreeMap<ServerName, Vec<u8>>,
    global: GlobalConfig,
    catch_all: Option<Arc<Server>>,
    rendered: u64,
}

impl Table {
    /// Of the hosts with these names, as they are after this.
    pub(super) fn new(
        takes: fn(&ServerName) -> bool,
        finish: fn(VirtualHost, &GlobalConfig) -> VirtualHost,
    ) -> Self {
        Table {
            takes,
            finish,
            servers: Shared::default(),
            hosts: BTreeMap::new(),
            global: GlobalConfig::default(),
            catch_all: None,
            rendered: 0,
        }
    }

    /// The encoded `RouteConfiguration`: these hosts before what `rest` has.
    pub(super) fn encode(&mut self, config: &Config, rest: RouteConfiguration) -> Vec<u8> {
        self.forget(config);
        self.render(config);
        // Fields are written in the order of their numbers: the name is the first, the hosts are the second.
        let name = RouteConfiguration {
            name: rest.name.clone(),
            ..RouteConfiguration::default()
        };
        let mut bytes = name.encode_to_vec();
        bytes.reserve(self.hosts.values().map(Vec::len).sum());
        self.hosts
            .values()
            .for_each(|host| bytes.extend_from_slice(host));
        let rest = RouteConfiguration {
            name: String::new(),
            ..rest
        };
        rest.encode(&mut bytes).ok();
        bytes
    }

    /// Forgets the hosts with routes to these backends.
    pub(super) fn forget_routes_to(&mut self, backends: &BTreeSet<BackendId>) {
        for name in native::forget_servers(&mut self.servers, backends) {
            self.hosts.remove(&name);
        }
        let catch_all = self.catch_all.as_ref();
        if catch_all.is_some_and(|server| native::forwards_to(server, backends)) {
            self.forget_wildcards();
        }
    }

    /// Number of hosts rendered since the last call.
    pub(super) fn take_rendered(&mut self) -> u64 {
        std::mem::take(&mut self.rendered)
    }

    /// Renders the hosts that are not as before, and forgets those that are gone.
    fn render(&mut self, config: &Config) {
        for Changed { name, now, .. } in changed(&self.servers, &config.servers) {
            let hosts = now
                .into_iter()
                .flat_map(|server| hosts_of(name, server, config, self.takes));
            let mut hosts = hosts
                .map(|host| (self.finish)(host, &config.global))
                .peekable();
            if hosts.peek().is_none() {
                self.hosts.remove(name);
                continue;
            }
            let mut bytes = Vec::new();
            hosts.for_each(|host| {
                prost::encoding::bytes::encode(VIRTUAL_HOSTS, &encoded_host(host), &mut bytes);
            });
            bytes.shrink_to_fit();
            self.rendered += 1;
            self.hosts.insert(name.clone(), bytes);
        }
        self.servers = config.servers.clone();
    }

    /// Forgets what does not follow from its server alone.
    fn forget(&mut self, config: &Config) {
        if self.global != config.global {
            self.servers.clear();
            self.hosts.clear();
            self.global = config.global.clone();
        }
        let catch_all = config.servers.get(&ServerName::CatchAll);
        if self.catch_all.as_ref() != catch_all {
            self.catch_all = catch_all.cloned();
            self.forget_wildcards();
        }
    }

    /// Wildcard hosts leave to the catch-all what they do not take, so they have its routes, too.
    fn forget_wildcards(&mut self) {
        let others = self
            .servers
            .iter()
            .filter(|(name, server)| !has_wildcard(name, server));
        self.servers = others
            .map(|(name, server)| (name.clone(), Arc::clone(server)))
            .collect();
        self.hosts.retain(|name, _| self.servers.contains_key(name));
    }
}

fn has_wildcard(name: &ServerName, server: &Server) -> bool {
    server
        .names(name)
        .any(|name| matches!(name, ServerName::Wildcard(_)))
}
