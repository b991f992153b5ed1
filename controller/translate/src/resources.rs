//! The watch cache: what the cluster, or the folder, holds right now.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use sluice_syntax::DnsName;

use crate::claims::Claims;
use crate::pods::{Pods, services_of};
use crate::secrets::KnownSecret;
use crate::{EndpointSlice, Kind, Object, ObjectKey, ObjectRef, Pod, Resolution};

/// Effect of a change of the cache on a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that matters.
    Nothing,
    /// Only the endpoints of these Services.
    Endpoints(BTreeSet<ObjectKey>),
    /// Only where a name leads.
    Name(DnsName),
    /// Only which machines run Sluice.
    Machines,
    /// Whatever follows from one object.
    Object(ObjectRef),
    /// Anything.
    Everything,
}

/// Changes of a while, together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    everything: bool,
    objects: BTreeSet<ObjectRef>,
    endpoints: BTreeSet<ObjectKey>,
    names: BTreeSet<DnsName>,
    machines: bool,
}

impl Changes {
    /// Whatever there is may have changed.
    #[must_use]
    pub fn everything() -> Self {
        Changes {
            everything: true,
            ..Changes::default()
        }
    }

    /// One more.
    pub fn add(&mut self, change: Change) {
        match change {
            Change::Nothing => {}
            Change::Endpoints(services) => self.endpoints.extend(services),
            Change::Name(name) => drop(self.names.insert(name)),
            Change::Machines => self.machines = true,
            Change::Object(object) => drop(self.objects.insert(object)),
            Change::Everything => self.everything = true,
        }
    }

    /// True if nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// True if only endpoints have changed.
    #[must_use]
    pub fn is_of_endpoints(&self) -> bool {
        !self.everything && self.objects.is_empty()
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.everything
    }

    pub(crate) fn are_of_machines(&self) -> bool {
        self.machines
    }

    pub(crate) fn objects(&self) -> &BTreeSet<ObjectRef> {
        &self.objects
    }

    /// The names that lead elsewhere.
    pub(crate) fn names(&self) -> &BTreeSet<DnsName> {
        &self.names
    }

    /// The Services whose endpoints have changed.
    pub(crate) fn endpoints(&self) -> &BTreeSet<ObjectKey> {
        &self.endpoints
    }
}

/// Every object, by kind and name. Sources apply and delete; the translation reads.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    pub(crate) config_maps: BTreeMap<ObjectKey, Arc<ConfigMap>>,
    /// Those that go on holding when they are gone, as in ingress-nginx: what was closed stays closed.
    held: BTreeSet<ObjectKey>,
    /// Of those, the ones that are gone.
    gone: BTreeSet<ObjectKey>,
    pub(crate) ingress_classes: BTreeMap<ObjectKey, Arc<IngressClass>>,
    pub(crate) ingresses: BTreeMap<ObjectKey, Arc<Ingress>>,
    pub(crate) namespaces: BTreeMap<ObjectKey, Arc<Namespace>>,
    pub(crate) pods: Pods,
    pub(crate) secrets: BTreeMap<ObjectKey, Arc<KnownSecret>>,
    pub(crate) services: BTreeMap<ObjectKey, Arc<Service>>,
    /// By Service, then by name of the slice.
    slices: BTreeMap<(ObjectKey, ObjectKey), Arc<EndpointSlice>>,
    /// Which Service a slice belongs to, because a deletion only names the slice.
    slice_owners: BTreeMap<ObjectKey, ObjectKey>,
    ingress_classes_are_forbidden: bool,
    claims: Claims,
    /// Answers of DNS.
    resolutions: BTreeMap<DnsName, Resolution>,
    /// The addresses of the machines that run Sluice, as the controller itself knows them.
    machines: BTreeSet<IpAddr>,
}

impl Resources {
    /// Adds an object or replaces the one of its name.
    pub fn apply(&mut self, object: Object) -> Change {
        let (kind, key) = (object.kind(), object.key());
        let changed = match object {
            Object::EndpointSlice(o) => return self.apply_slice(key, o),
            Object::Pod(o) => return self.apply_pod(&key, &o),
            Object::ConfigMap(o) => put(&mut self.config_maps, &key, o) | self.gone.remove(&key),
            Object::Ingress(o) => self.apply_ingress(&key, o),
            Object::IngressClass(o) => put(&mut self.ingress_classes, &key, o),
            Object::Namespace(o) => put(&mut self.namespaces, &key, o),
            Object::Secret(o) => put(
                &mut self.secrets,
                &key,
                Arc::new(Arc::unwrap_or_clone(o).into()),
            ),
            Object::Service(o) => put(&mut self.services, &key, o),
        };
        if changed {
            Change::Object(ObjectRef { kind, key })
        } else {
            Change::Nothing
        }
    }

    /// Removes an object, if it is there.
    pub fn delete(&mut self, kind: Kind, key: &ObjectKey) -> Change {
        let was_there = match kind {
            Kind::ConfigMap => self.delete_config_map(key),
            Kind::EndpointSlice => return self.delete_slice(key),
            Kind::Ingress => self.delete_ingress(key),
            Kind::IngressClass => self.ingress_classes.remove(key).is_some(),
            Kind::Namespace => self.namespaces.remove(key).is_some(),
            Kind::Pod => return self.delete_pod(key),
            Kind::Secret => self.secrets.remove(key).is_some(),
            Kind::Service => self.services.remove(key).is_some(),
        };
        if was_there {
            Change::Object(ObjectRef {
                kind,
                key: key.clone(),
            })
        } else {
            Change::Nothing
        }
    }

    /// The last content of this ConfigMap holds from now on, when it is gone.
    pub fn hold_config_map(&mut self, key: ObjectKey) {
        self.held.insert(key);
    }

    /// Whether a ConfigMap is gone and holds.
    pub(crate) fn is_gone(&self, config_map: &ObjectKey) -> bool {
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

    /// The addresses of the machines that run Sluice from now on, beside those that the options name.
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

    /// Nobody asks DNS about a name any more.
    pub fn forget(&mut self, name: &DnsName) {
        self.resolutions.remove(name);
    }

    pub(crate) fn resolution(&self, name: &DnsName) -> Option<&Resolution> {
        self.resolutions.get(name)
    }

    /// IngressClasses cannot be listed: `spec.ingressClassName` then says nothing, and only the annotation counts.
    pub fn forbid_ingress_classes(&mut self) {
        self.ingress_classes_are_forbidden = true;
    }

    pub(crate) fn ingress_classes_are_readable(&self) -> bool {
        !self.ingress_classes_are_forbidden
    }

    /// A Service by its name.
    #[must_use]
    pub fn service(&self, key: &ObjectKey) -> Option<&Service> {
        self.services.get(key).map(AsRef::as_ref)
    }

    pub(crate) fn claims(&self) -> &Claims {
        &self.claims
    }

    fn apply_ingress(&mut self, key: &ObjectKey, ingress: Arc<Ingress>) -> bool {
        let before = self.ingresses.get(key).cloned();
        let changed = put(&mut self.ingresses, key, ingress);
        if changed {
            before.iter().for_each(|before| self.claims.remove(before));
            self.ingresses
                .get(key)
                .into_iter()
                .for_each(|now| self.claims.add(now));
        }
        changed
    }

    fn delete_ingress(&mut self, key: &ObjectKey) -> bool {
        let gone = self.ingresses.remove(key);
        gone.iter().for_each(|gone| self.claims.remove(gone));
        gone.is_some()
    }

    pub(crate) fn slices_of<'a>(
        &'a self,
        service: &'a ObjectKey,
    ) -> impl Iterator<Item = &'a Arc<EndpointSlice>> {
        let from = (service.clone(), ObjectKey::default());
        let slices = self
            .slices
            .range(from..)
            .take_while(move |((other, _), _)| other == service);
        slices.map(|(_, slice)| slice)
    }

    /// The Services of a namespace that have any slice.
    pub(crate) fn services_with_slices<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a ObjectKey> {
        let from = (ObjectKey::new(namespace, ""), ObjectKey::default());
        let slices = self.slices.range(from..).map(|((service, _), _)| service);
        let mut last = None;
        slices
            .take_while(move |service| service.namespace == namespace)
            .filter(move |service| last.replace(*service) != Some(*service))
    }

    fn apply_slice(&mut self, key: ObjectKey, slice: Arc<EndpointSlice>) -> Change {
        let service = slice
            .service
            .as_deref()
            .map(|name| ObjectKey::new(key.namespace.clone(), name));
        let Some(service) = service else {
            return self.delete_slice(&key);
        };
        if self
            .slice_owners
            .get(&key)
            .is_some_and(|owner| *owner != service)
        {
            // The slice moved to another Service, which no controller of Kubernetes does: rare enough to redo all.
            self.delete_slice(&key);
            self.slice_owners.insert(key.clone(), service.clone());
            put(&mut self.slices, &(service, key), slice);
            return Change::Everything;
        }
        self.slice_owners.insert(key.clone(), service.clone());
        let changed = put(&mut self.slices, &(service.clone(), key), slice);
        if changed {
            Change::Endpoints([service].into())
        } else {
            Change::Nothing
        }
    }

    fn delete_slice(&mut self, key: &ObjectKey) -> Change {
        let Some(service) = self.slice_owners.remove(key) else {
            return Change::Nothing;
        };
        self.slices.remove(&(service.clone(), key.clone()));
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
        let from = (
            ObjectKey::new(pod.namespace.clone(), ""),
            ObjectKey::default(),
        );
        let near = self
            .slices
            .range(from..)
            .take_while(|((service, _), _)| service.namespace == pod.namespace);
        let services = services_of(
            pod,
            near.map(|((service, _), slice)| (service, slice.endpoints.as_ref())),
        );
        if services.is_empty() {
            Change::Nothing
        } else {
            Change::Endpoints(services)
        }
    }
}

/// Whether that changes anything.
fn put<K: Clone + Ord, T: PartialEq>(
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
