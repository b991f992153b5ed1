//! Parts of a configuration that can be rejected separately: what one Ingress says about one host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{Config, RouteId, Server, ServerName, Shared, SharedMap};
use sluice_translate::{ObjectKey, Snapshot, ids};

/// A published configuration, with the owners of its routes.
#[derive(Clone, Debug, Default)]
pub struct Publication {
    /// Published configuration.
    pub config: Config,
    /// Translation that it was made of.
    pub snapshot: Arc<Snapshot>,
}

impl Publication {
    /// With everything that the translation gave, held back or not.
    #[must_use]
    pub fn as_translated(&self) -> Self {
        Publication {
            config: self.snapshot.config().clone(),
            snapshot: Arc::clone(&self.snapshot),
        }
    }

    /// The Ingress that a route is from.
    pub(super) fn owner(&self, route: &RouteId) -> Option<&ObjectKey> {
        self.snapshot.owner(route)
    }

    /// True if the configuration contains something of a part.
    pub(super) fn has(&self, part: &Part) -> bool {
        if part.owner.is_none() && self.config.tls.contains_key(&part.host) {
            return true;
        }
        let of_owner = |server: &Arc<Server>| {
            let mut owners = server.routes.iter().map(|route| self.owner(&route.id));
            part.owner
                .as_ref()
                .is_none_or(|owner| owners.any(|other| other == Some(owner)))
        };
        self.config.servers.get(&part.host).is_some_and(of_owner)
    }

    /// The parts of a host.
    pub(super) fn parts<'a>(
        &'a self,
        host: &'a ServerName,
        server: &'a Server,
    ) -> impl Iterator<Item = Part> + use<'a> {
        let owners: BTreeSet<&ObjectKey> = server
            .routes
            .iter()
            .filter_map(|route| self.owner(&route.id))
            .collect();
        let whole = owners.is_empty().then_some(None);
        let owners = owners.into_iter().map(|owner| Some(owner.clone()));
        whole.into_iter().chain(owners).map(|owner| Part {
            host: host.clone(),
            owner,
        })
    }

    /// The host that has a name, as its own or as another one.
    pub(super) fn host_called(&self, name: &str) -> Option<&ServerName> {
        self.host_with(&ServerName::parse(name).ok()?)
    }

    /// The same; a name that no server has is a host of its own.
    pub(super) fn host_named(&self, name: &ServerName) -> ServerName {
        self.host_with(name).unwrap_or(name).clone()
    }

    fn host_with(&self, name: &ServerName) -> Option<&ServerName> {
        let own = self
            .config
            .servers
            .get_key_value(name)
            .map(|(host, _)| host);
        own.or_else(|| {
            let has_it = |(_, server): &(&ServerName, &Arc<Server>)| server.aliases.contains(name);
            self.config
                .servers
                .iter()
                .find(has_it)
                .map(|(host, _)| host)
        })
    }

    /// The names of a host, with which clients ask for it.
    pub(super) fn names(&self, host: &ServerName) -> BTreeSet<ServerName> {
        let aliases = self
            .config
            .servers
            .get(host)
            .into_iter()
            .flat_map(|server| &server.aliases);
        aliases.chain([host]).cloned().collect()
    }

    /// The namespace that alone answers for a part: that of its Ingress, or of all Ingresses of a host. Of a host that several share it is that
    /// of the host's own certificates, which no other sets.
    pub(super) fn namespace(&self, part: &Part) -> Option<Arc<str>> {
        if let Some(owner) = &part.owner {
            return Some(Arc::clone(&owner.namespace));
        }
        let namespaces = self.namespaces(&part.host);
        if let (1, Some(sole)) = (namespaces.len(), namespaces.first()) {
            return Some(Arc::clone(sole));
        }
        let tls = self.config.tls.get(&part.host)?;
        let clients = tls.client_validation.as_ref().map(|clients| &clients.ca);
        let secrets = tls.certificate.iter().chain(clients);
        let mut owners = secrets.filter_map(|id| Some(ids::secret_of(id)?.namespace));
        owners.find(|owner| namespaces.contains(owner))
    }

    /// The namespaces of all Ingresses of a host.
    pub(super) fn namespaces(&self, host: &ServerName) -> BTreeSet<Arc<str>> {
        let servers = self.config.servers.get(host).into_iter();
        let routes = servers.flat_map(|server| &server.routes);
        let owners = routes.filter_map(|route| self.owner(&route.id));
        owners.map(|owner| Arc::clone(&owner.namespace)).collect()
    }

    /// True if something of a host is in none of its routes.
    pub(super) fn has_settings(&self, host: &ServerName) -> bool {
        let mut names = self.names(host).into_iter();
        let rest = |server: &Arc<Server>| Server {
            routes: Vec::new(),
            ..Server::clone(server)
        };
        names.any(|name| self.config.tls.contains_key(&name))
            || (self.config.servers.get(host)).is_some_and(|it| rest(it) != Server::default())
    }

    /// These parts and nothing else of any host.
    pub(super) fn only(&self, parts: &[Part]) -> Config {
        let mut owners: BTreeMap<&ServerName, BTreeSet<Option<&ObjectKey>>> = BTreeMap::new();
        for part in parts {
            owners
                .entry(&part.host)
                .or_default()
                .insert(part.owner.as_ref());
        }
        let all = &self.config;
        let mut servers = Shared::default();
        let (mut tls, mut passthrough) = (SharedMap::default(), SharedMap::default());
        for (host, owners) in owners {
            for name in self.names(host) {
                copy(&name, &all.tls, &mut tls);
                if let ServerName::Exact(name) = &name {
                    copy(name, &all.passthrough, &mut passthrough);
                }
            }
            let Some(server) = all.servers.get(host) else {
                continue;
            };
            servers.insert(host.clone(), self.only_of(server, &owners));
        }
        Config {
            servers,
            tls,
            passthrough,
            ..all.clone()
        }
    }

    /// Routes of these owners. Routes without an owner are included.
    fn only_of(&self, server: &Arc<Server>, owners: &BTreeSet<Option<&ObjectKey>>) -> Arc<Server> {
        if owners.contains(&None) {
            return Arc::clone(server);
        }
        let mut server = Server::clone(server);
        server.routes.retain(|route| {
            let owner = self.owner(&route.id);
            owner.is_none() || owners.contains(&owner)
        });
        Arc::new(server)
    }
}

fn copy<K: Ord + Clone, V: Clone>(name: &K, from: &SharedMap<K, V>, to: &mut SharedMap<K, V>) {
    if let Some(value) = from.get(name) {
        to.insert(name.clone(), value.clone());
    }
}

/// The part of one Ingress on one host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Name of the host.
    pub host: ServerName,
    /// The Ingress; `None`: the host as a whole.
    pub owner: Option<ObjectKey>,
}
