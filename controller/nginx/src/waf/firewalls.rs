//! The servers with a firewall, and the files of their rules.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ir::{Config, Server, ServerName};

use super::{Around, Sharing, of_all, of_route, of_server, wafs};
use crate::settings::Settings;

/// Names of the servers with a firewall, and the routes of all servers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firewalls {
    servers: BTreeSet<ServerName>,
    routes: usize,
}

impl Firewalls {
    /// Follows a change of one server; `true`: it has a firewall, or had one.
    pub(crate) fn follow(
        &mut self,
        name: &ServerName,
        before: Option<&Server>,
        now: Option<&Server>,
    ) -> bool {
        let count = |server: Option<&Server>| server.map_or(0, |server| server.routes.len());
        self.routes = self.routes + count(now) - count(before);
        let had_one = self.servers.remove(name);
        let has_one = now.is_some_and(|server| wafs(server).next().is_some());
        if has_one {
            self.servers.insert(name.clone());
        }
        had_one || has_one
    }

    pub(crate) fn sharing(&self, config: &Config, settings: &Settings) -> Sharing {
        let servers: Vec<&Server> = self.servers(config).collect();
        let module = settings.modsecurity.as_ref();
        Sharing::new(&servers, self.routes, &config.global, module)
    }

    /// All files, by their names.
    pub(crate) fn files(
        &self,
        config: &Config,
        sharing: &Sharing,
        settings: &Settings,
    ) -> BTreeMap<String, String> {
        let Some(module) = &settings.modsecurity else {
            return BTreeMap::new();
        };
        let global = &config.global;
        let mut files = of_all(sharing, global, module, settings);
        for server in self.servers(config) {
            let place = sharing.server(server, global, Some(module));
            files.extend(of_server(&place, module));
            let around = Around {
                sharing,
                place: &place,
                everywhere: global.waf.as_ref(),
            };
            files.extend(wafs(server).flat_map(|waf| of_route(waf, around, module)));
        }
        let named = files.into_iter();
        named.map(|file| (file.name, file.text)).collect()
    }

    fn servers<'a>(&'a self, config: &'a Config) -> impl Iterator<Item = &'a Server> {
        let servers = self.servers.iter();
        servers.filter_map(|name| config.servers.get(name).map(AsRef::as_ref))
    }
}
