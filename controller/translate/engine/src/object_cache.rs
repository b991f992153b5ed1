//! Objects that any input may refer to: Services and their endpoints, Secrets, ConfigMaps, names, machines.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use sluice_ir::BackendId;
use sluice_syntax::DnsName;

use crate::few::Few;
use crate::known_secret::KnownSecret;
use crate::pods::{Pods, services_of};
use crate::{
    Change, EndpointHealth, EndpointSlice, Kind, Object, ObjectKey, Pod, Resolution, Service,
};

/// Objects that routes may refer to, by kind and name, and other facts about the cluster.
#[derive(Clone, Debug, Default)]
pub struct ObjectCache {
    config_maps: BTreeMap<ObjectKey, Arc<ConfigMap>>,
    /// Those that go on holding when they are gone, as in ingress-nginx: what was closed stays closed.
    held: BTreeSet<ObjectKey>,
    /// Of those, the ones that are gone.
    gone: BTreeSet<ObjectKey>,
    namespaces: BTreeMap<ObjectKey, Arc<Namespace>>,
    pub(crate) pods: Pods,
    secrets: BTreeMap<ObjectKey, Arc<KnownSecret>>,
    services: BTreeMap<ObjectKey, Arc<Service>>,
    /// By Service, then by name of the slice; all are of the Service's namespace.
    slices: BTreeMap<ObjectKey, Few<Arc<str>, Arc<EndpointSlice>>>,
    /// Name of the Service of each slice, because a deletion only names the slice.
    slice_owners: BTreeMap<ObjectKey, Arc<str>>,
    /// Answers of DNS.
    resolutions: BTreeMap<DnsName, Resolution>,
    /// Results of health checks, where there is something to say.
    health: BTreeMap<BackendId, EndpointHealth>,
    /// The addresses of the machines that run Sluice, as the controller itself knows them.
    machines: BTreeSet<IpAddr>,
}

impl ObjectCache {
    /// Adds an object or replaces the one of its name. Objects that have routes are kept by their input.
    pub fn apply(&mut self, object: Object) -> Change {
        let (kind, key) = (object.kind(), object.key());
        let has_changed = match object {
            Object::EndpointSlice(o) => return self.apply_slice(key, o),
            Object::Pod(o) => return self.apply_pod(&key, &o),
            Object::ConfigMap(o) => put(&mut self.config_maps, &key, o) | self.gone.remove(&key),
            Object::Namespace(o) => put(&mut self.namespaces, &key, o),
            Object::Secret(o) => put(
                &mut self.secrets,
                &key,
                Arc::new(Arc::unwrap_or_clone(o).into()),
            ),
            Object::Service(o) => put(&mut self.services, &key, o),
            Object::Ingress(_) | Object::IngressClass(_) => false,
        };
        Change::of_object(kind, &key, has_changed)
    }

    /// Removes an object, if it is there.
    pub fn delete(&mut self, kind: Kind, key: &ObjectKey) -> Change {
        let was_there = match kind {
            Kind::ConfigMap => self.delete_config_map(key),
            Kind::EndpointSlice => return self.delete_slice(key),
            Kind::Namespace => self.namespaces.remove(key).is_some(),
            Kind::Pod => return self.delete_pod(key),
            Kind::Secret => self.secrets.remove(key).is_some(),
            Kind::Service => self.services.remove(key).is_some(),
            Kind::Ingress | Kind::IngressClass => false,
        };
        Change::of_object(kind, key, was_there)
    }

    /// Makes the last content of this ConfigMap hold when it is deleted.
    pub fn hold_config_map(&mut self, key: ObjectKey) {
        self.held.insert(key);
    }

    /// True if a ConfigMap was deleted and its last content holds.
    #[must_use]
    pub fn is_gone(&self, config_map: &ObjectKey) -> bool {
        self.gone.contains(config_map)
    }

    fn delete_config_map(&mut self, key: &ObjectKey) -> bool {
        if self.held.contains(key) && self.config_maps.contains_key(key) {
            return self.gone.insert(key.clone());
        }
        self.config_maps.remove(key).is_some()
    }

    /// Sets the answer of DNS for a name.
    pub fn resolve(&mut self, name: DnsName, resolution: Resolution) -> Change {
        let before = self.resolutions.insert(name.clone(), resolution);
        if before.as_ref() == self.resolutions.get(&name) {
            Change::Nothing
        } else {
            Change::Name(name)
        }
    }

    /// Sets the health of a backend's endpoints.
    pub fn set_health(&mut self, backend: BackendId, health: EndpointHealth) -> Change {
        let before = self.health.get(&backend).cloned().unwrap_or_default();
        if before == health {
            return Change::Nothing;
        }
        self.health.insert(backend.clone(), health);
        Change::Health(backend)
    }

    /// Drops the health of a backend's endpoints: they are no longer checked.
    pub fn forget_health(&mut self, backend: &BackendId) {
        self.health.remove(backend);
    }

    pub(crate) fn health(&self, backend: &BackendId) -> Option<&EndpointHealth> {
        self.health.get(backend)
    }

    /// Sets the addresses of the machines that run Sluice, beside those that the options name.
    pub fn know_machines(&mut self, addresses: BTreeSet<IpAddr>) -> Change {
        if self.machines == addresses {
            return Change::Nothing;
        }
        self.machines = addresses;
        Change::Machines
    }

    pub(crate) fn machines(&self) -> impl Iterator<Item = IpAddr> {
        self.machines.iter().copied()
    }

    /// Drops the answer of DNS for a name.
    pub fn forget(&mut self, name: &DnsName) {
        self.resolutions.remove(name);
    }

    /// The answer of DNS for a name, if there has been one.
    #[must_use]
    pub fn resolution(&self, name: &DnsName) -> Option<&Resolution> {
        self.resolutions.get(name)
    }

    /// All ConfigMaps.
    pub fn config_maps(&self) -> impl Iterator<Item = (&ObjectKey, &ConfigMap)> {
        self.config_maps
            .iter()
            .map(|(key, map)| (key, map.as_ref()))
    }

    /// A ConfigMap by its name.
    #[must_use]
    pub fn config_map(&self, key: &ObjectKey) -> Option<&ConfigMap> {
        self.config_maps.get(key).map(AsRef::as_ref)
    }

    /// A Secret by its name.
    #[must_use]
    pub fn secret(&self, key: &ObjectKey) -> Option<&KnownSecret> {
        self.secrets.get(key).map(AsRef::as_ref)
    }

    /// A Service by its name.
    #[must_use]
    pub fn service(&self, key: &ObjectKey) -> Option<&Service> {
        self.services.get(key).map(AsRef::as_ref)
    }

    pub(crate) fn slices_of(
        &self,
        service: &ObjectKey,
    ) -> impl Iterator<Item = &Arc<EndpointSlice>> {
        self.slices.get(service).into_iter().flat_map(Few::values)
    }

    /// Names of the EndpointSlices of a Service.
    pub fn slice_names(&self, service: &ObjectKey) -> impl Iterator<Item = ObjectKey> {
        self.slices_of(service).map(|slice| slice.names.key())
    }

    /// The Services of a namespace that have any slice.
    pub(crate) fn services_with_slices<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a ObjectKey> {
        self.with_slices(namespace).map(|(service, _)| service)
    }

    /// The Services of a namespace with their slices.
    fn with_slices<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a Few<Arc<str>, Arc<EndpointSlice>>)> {
        let from = ObjectKey::new(namespace, "");
        self.slices
            .range(from..)
            .take_while(move |(service, _)| *service.namespace == *namespace)
    }

    fn apply_slice(&mut self, key: ObjectKey, slice: Arc<EndpointSlice>) -> Change {
        let Some(name) = slice.service.clone() else {
            return self.delete_slice(&key);
        };
        let service = ObjectKey {
            namespace: Arc::clone(&key.namespace),
            name: Arc::clone(&name),
        };
        let before = self.slice_owners.get(&key);
        // No controller of Kubernetes does that: rare enough to redo all.
        let has_moved = before.is_some_and(|before| *before != name);
        if has_moved {
            self.delete_slice(&key);
        }
        let of_service = self.slices.entry(service.clone()).or_default();
        if of_service.get(&key.name) == Some(&slice) {
            return Change::Nothing;
        }
        of_service.insert(Arc::clone(&key.name), slice);
        self.slice_owners.insert(key, name);
        match has_moved {
            true => Change::Everything,
            false => Change::Endpoints([service].into()),
        }
    }

    fn delete_slice(&mut self, key: &ObjectKey) -> Change {
        let Some(name) = self.slice_owners.remove(key) else {
            return Change::Nothing;
        };
        let service = ObjectKey {
            namespace: Arc::clone(&key.namespace),
            name,
        };
        if let Some(of_service) = self.slices.get_mut(&service) {
            of_service.remove(&key.name);
            if of_service.is_empty() {
                self.slices.remove(&service);
            }
        }
        Change::Endpoints([service].into())
    }

    fn apply_pod(&mut self, key: &ObjectKey, pod: &Pod) -> Change {
        if self.pods.apply(key, pod) {
            self.change_of_pod(key)
        } else {
            Change::Nothing
        }
    }

    fn delete_pod(&mut self, key: &ObjectKey) -> Change {
        if self.pods.delete(key) {
            self.change_of_pod(key)
        } else {
            Change::Nothing
        }
    }

    /// Weights change rarely: looking through the namespace costs less than an index of all pods.
    fn change_of_pod(&self, pod: &ObjectKey) -> Change {
        let near = self.with_slices(&pod.namespace);
        let slices = near.flat_map(|(service, slices)| {
            let endpoints = slices.values().map(|slice| slice.endpoints.as_ref());
            endpoints.map(move |endpoints| (service, endpoints))
        });
        Change::of_endpoints(services_of(pod, slices))
    }
}

/// Stores an object; true if that changes anything.
pub fn put<K: Clone + Ord, T: PartialEq>(
    map: &mut BTreeMap<K, Arc<T>>,
    key: &K,
    object: Arc<T>,
) -> bool {
    if map.get(key).is_some_and(|known| *known == object) {
        return false;
    }
    map.insert(key.clone(), object);
    true
}

#[cfg(test)]
mod tests;
