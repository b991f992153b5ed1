//! Route groups: the translation of each connected component of objects that share server names.
//!
//! ```text
//!   objects --names--> servers       Objects that share a server, directly or by way of others, are one component
//!      \-- depends on --> Services, Secrets, ConfigMaps
//! ```
//!
//! A route group is made from its objects, those that they depend on and the holders of the wildcards over its hosts
//! (`wildcards.rs`), and from nothing else that can change by itself. Backends, canaries and missing endpoints, which
//! several groups decide together, are resolved in `backend_registry.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{BackendId, Hostname, HttpRoute, RouteId, SecretId, Server, ServerName};

use crate::assembled::ErrorService;
use crate::backends::ReferencePrecedence;
use crate::ids::without_variant;
use crate::{ObjectKey, ObjectRef, Report};

pub(crate) type RouteGroupId = u64;

/// The translation of one connected component of objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteGroup {
    /// Objects that its routes come from.
    pub(crate) members: Box<[ObjectKey]>,
    /// Also those that came to nothing.
    pub(crate) names: Box<[ServerName]>,
    pub(crate) dependencies: Box<[ObjectRef]>,
    /// Without canaries, and as if no pods were missing.
    pub(crate) servers: Box<[(ServerName, Arc<Server>)]>,
    /// Names in handshakes, aliases among them.
    pub(crate) tls: BTreeSet<ServerName>,
    pub(crate) secrets: BTreeSet<SecretId>,
    pub(crate) error_services: BTreeMap<RouteId, ErrorService>,
    /// Keys of what it contributes to the backend registry.
    pub(crate) contributions: Box<[(BackendId, ReferencePrecedence)]>,
    pub(crate) reports: Vec<Report>,
}

impl RouteGroup {
    /// Suffixes of the wildcards that cover its hosts.
    fn suffixes(&self) -> BTreeSet<Hostname> {
        let names = self.names.iter();
        names.filter_map(ServerName::wildcard_suffix).collect()
    }

    /// The ports of Services that its routes lead to.
    pub(crate) fn ports(&self) -> BTreeSet<BackendId> {
        let routes = self.servers.iter().flat_map(|(_, server)| &server.routes);
        let mains = routes.filter_map(HttpRoute::primary_backend);
        let mains = mains.map(without_variant);
        mains.collect()
    }

    /// Backends of which it matters whether they have any endpoint at all.
    pub(crate) fn watched(&self) -> BTreeSet<BackendId> {
        if self.error_services.is_empty() {
            return BTreeSet::new();
        }
        let routes = self.servers.iter().flat_map(|(_, server)| &server.routes);
        let watched = routes.filter_map(|route| {
            let main = route.primary_backend()?;
            let asked = self.error_services.get(&route.id)?;
            Some([main.clone(), asked.backend.clone()])
        });
        watched.flatten().collect()
    }
}

/// All route groups, indexed by what can change them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteGroups {
    groups: BTreeMap<RouteGroupId, Box<RouteGroup>>,
    last: RouteGroupId,
    by_member: BTreeMap<ObjectKey, RouteGroupId>,
    by_name: BTreeMap<ServerName, RouteGroupId>,
    /// By what a wildcard that covers one of their hosts has after its star.
    by_suffix: Index<Hostname>,
    by_object: Index<ObjectRef>,
    by_port: Index<BackendId>,
    by_watched: Index<BackendId>,
}

impl RouteGroups {
    pub(crate) fn insert(&mut self, group: RouteGroup) -> RouteGroupId {
        self.last += 1;
        let id = self.last;
        self.by_member
            .extend(group.members.iter().map(|key| (key.clone(), id)));
        self.by_name
            .extend(group.names.iter().map(|name| (name.clone(), id)));
        self.by_suffix.add(&group.suffixes(), id);
        self.by_object.add(&group.dependencies, id);
        self.by_port.add(&group.ports(), id);
        self.by_watched.add(&group.watched(), id);
        self.groups.insert(id, Box::new(group));
        id
    }

    pub(crate) fn remove(&mut self, id: RouteGroupId) -> Option<RouteGroup> {
        let group = self.groups.remove(&id)?;
        for key in &group.members {
            self.by_member.remove(key);
        }
        for name in &group.names {
            self.by_name.remove(name);
        }
        self.by_suffix.remove(&group.suffixes(), id);
        self.by_object.remove(&group.dependencies, id);
        self.by_port.remove(&group.ports(), id);
        self.by_watched.remove(&group.watched(), id);
        Some(*group)
    }

    pub(crate) fn get(&self, id: RouteGroupId) -> Option<&RouteGroup> {
        self.groups.get(&id).map(AsRef::as_ref)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &RouteGroup> {
        self.groups.values().map(AsRef::as_ref)
    }

    /// The route group of an object that routes come from, as it was translated.
    pub(crate) fn of_member(&self, key: &ObjectKey) -> Option<RouteGroupId> {
        self.by_member.get(key).copied()
    }

    /// The route group that has a server.
    pub(crate) fn of_name(&self, name: &ServerName) -> Option<RouteGroupId> {
        self.by_name.get(name).copied()
    }

    /// Those with a host that a wildcard covers.
    pub(crate) fn under(&self, suffix: &Hostname) -> impl Iterator<Item = RouteGroupId> {
        self.by_suffix.of(suffix)
    }

    /// Route groups that depend on an object.
    pub(crate) fn of_object(&self, object: &ObjectRef) -> impl Iterator<Item = RouteGroupId> {
        self.by_object.of(object)
    }

    /// Those with a route that leads to a port of a Service.
    pub(crate) fn of_port(&self, port: &BackendId) -> impl Iterator<Item = RouteGroupId> {
        self.by_port.of(port)
    }

    /// Those to which it matters whether a backend has any endpoint at all.
    pub(crate) fn watching(&self, backend: &BackendId) -> impl Iterator<Item = RouteGroupId> {
        self.by_watched.of(backend)
    }
}

/// Route groups by key.
#[derive(Clone, Debug)]
struct Index<K>(BTreeSet<(K, RouteGroupId)>);

impl<K> Default for Index<K> {
    fn default() -> Self {
        Index(BTreeSet::new())
    }
}

impl<K: Clone + Ord> Index<K> {
    fn add<'a>(&mut self, keys: impl IntoIterator<Item = &'a K>, id: RouteGroupId)
    where
        K: 'a,
    {
        self.0.extend(keys.into_iter().map(|key| (key.clone(), id)));
    }

    fn remove<'a>(&mut self, keys: impl IntoIterator<Item = &'a K>, id: RouteGroupId)
    where
        K: 'a,
    {
        for key in keys {
            self.0.remove(&(key.clone(), id));
        }
    }

    fn of(&self, key: &K) -> impl Iterator<Item = RouteGroupId> {
        let all = (key.clone(), RouteGroupId::MIN)..=(key.clone(), RouteGroupId::MAX);
        self.0.range(all).map(|(_, id)| *id)
    }
}
