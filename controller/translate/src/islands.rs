//! Ingresses that have to do with each other, by the servers that they name: what is translated together.
//!
//! ```text
//!   Ingress --names--> servers     Ingresses that share a server, directly or by way of others, are one island
//!      \-- looks for --> Services, Secrets, ConfigMaps
//! ```
//!
//! An island is made from its Ingresses and the objects that they looked for, and from nothing else that can change by
//! itself. What reaches over to other islands (backends, canaries, missing pods) is not settled here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_ir::{Action, BackendId, LocationId, SecretId, Server, ServerName};

use crate::backends::Rank;
use crate::servers::ErrorService;
use crate::{Kind, ObjectKey, ObjectRef, Report};

pub(crate) type IslandId = u64;

/// What some Ingresses come to by themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Island {
    pub(crate) ingresses: Box<[ObjectKey]>,
    /// Also those that came to nothing.
    pub(crate) names: Box<[ServerName]>,
    pub(crate) looked_for: Box<[ObjectRef]>,
    /// Without canaries, and as if no pods were missing.
    pub(crate) servers: Box<[(ServerName, Arc<Server>)]>,
    /// Names in handshakes, aliases among them.
    pub(crate) tls: BTreeSet<ServerName>,
    pub(crate) secrets: BTreeSet<SecretId>,
    pub(crate) error_services: BTreeMap<LocationId, ErrorService>,
    /// Where the ledger has what these Ingresses say about ports of Services.
    pub(crate) said: Box<[(BackendId, Rank)]>,
    pub(crate) reports: Vec<Report>,
}

impl Island {
    /// The ports of Services that its locations lead to.
    pub(crate) fn ports(&self) -> BTreeSet<BackendId> {
        let locations = self.servers.iter().flat_map(|(_, server)| &server.locations);
        let mains = locations.filter_map(|location| match &location.action {
            Action::Forward(main) => Some(main.service_port()),
            _ => None,
        });
        mains.collect()
    }

    /// Backends of which it matters whether they have any endpoint at all.
    pub(crate) fn watched(&self) -> BTreeSet<BackendId> {
        if self.error_services.is_empty() {
            return BTreeSet::new();
        }
        let locations = self.servers.iter().flat_map(|(_, server)| &server.locations);
        let watched = locations.filter_map(|location| match &location.action {
            Action::Forward(main) => {
                let asked = self.error_services.get(&location.id)?;
                Some([main.clone(), asked.backend.clone()])
            }
            _ => None,
        });
        watched.flatten().collect()
    }
}

/// All islands, and who has to do with which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Islands {
    islands: BTreeMap<IslandId, Island>,
    last: IslandId,
    by_ingress: BTreeMap<ObjectKey, IslandId>,
    by_name: BTreeMap<ServerName, IslandId>,
    by_object: Index<ObjectRef>,
    by_port: Index<BackendId>,
    by_watched: Index<BackendId>,
}

impl Islands {
    pub(crate) fn insert(&mut self, island: Island) -> IslandId {
        self.last += 1;
        let id = self.last;
        self.by_ingress.extend(island.ingresses.iter().map(|key| (key.clone(), id)));
        self.by_name.extend(island.names.iter().map(|name| (name.clone(), id)));
        self.by_object.add(&island.looked_for, id);
        self.by_port.add(&island.ports(), id);
        self.by_watched.add(&island.watched(), id);
        self.islands.insert(id, island);
        id
    }

    pub(crate) fn remove(&mut self, id: IslandId) -> Option<Island> {
        let island = self.islands.remove(&id)?;
        for key in &island.ingresses {
            self.by_ingress.remove(key);
        }
        for name in &island.names {
            self.by_name.remove(name);
        }
        self.by_object.remove(&island.looked_for, id);
        self.by_port.remove(&island.ports(), id);
        self.by_watched.remove(&island.watched(), id);
        Some(island)
    }

    pub(crate) fn get(&self, id: IslandId) -> Option<&Island> {
        self.islands.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Island> {
        self.islands.values()
    }

    /// The island of an Ingress, as it was translated.
    pub(crate) fn of_ingress(&self, key: &ObjectKey) -> Option<IslandId> {
        self.by_ingress.get(key).copied()
    }

    /// The island that has a server.
    pub(crate) fn of_name(&self, name: &ServerName) -> Option<IslandId> {
        self.by_name.get(name).copied()
    }

    /// Those that have looked for an object, or are made from it.
    pub(crate) fn of_object(&self, object: &ObjectRef) -> impl Iterator<Item = IslandId> {
        let own = (object.kind == Kind::Ingress).then(|| self.of_ingress(&object.key)).flatten();
        self.by_object.of(object).chain(own)
    }

    /// Those with a location that leads to a port of a Service.
    pub(crate) fn of_port(&self, port: &BackendId) -> impl Iterator<Item = IslandId> {
        self.by_port.of(port)
    }

    /// Those to which it matters whether a backend has any endpoint at all.
    pub(crate) fn watching(&self, backend: &BackendId) -> impl Iterator<Item = IslandId> {
        self.by_watched.of(backend)
    }
}

/// Many islands for each key.
#[derive(Clone, Debug)]
struct Index<K>(BTreeMap<K, BTreeSet<IslandId>>);

impl<K> Default for Index<K> {
    fn default() -> Self {
        Index(BTreeMap::new())
    }
}

impl<K: Clone + Ord> Index<K> {
    fn add<'a>(&mut self, keys: impl IntoIterator<Item = &'a K>, id: IslandId)
    where
        K: 'a,
    {
        for key in keys {
            self.0.entry(key.clone()).or_default().insert(id);
        }
    }

    fn remove<'a>(&mut self, keys: impl IntoIterator<Item = &'a K>, id: IslandId)
    where
        K: 'a,
    {
        for key in keys {
            let Some(ids) = self.0.get_mut(key) else { continue };
            ids.remove(&id);
            if ids.is_empty() {
                self.0.remove(key);
            }
        }
    }

    fn of(&self, key: &K) -> impl Iterator<Item = IslandId> {
        self.0.get(key).into_iter().flatten().copied()
    }
}
