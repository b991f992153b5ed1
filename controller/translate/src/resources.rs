//! The watch cache: what the cluster, or the folder, holds right now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};

use crate::certificate::Known;
use crate::claims::Claims;
use crate::pods::{Pods, services_of};
use crate::{EndpointSlice, Kind, Object, ObjectKey, ObjectRef, Pod};

/// What a change of the cache means for a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that matters.
    Nothing,
    /// Only the endpoints of these Services.
    Endpoints(BTreeSet<ObjectKey>),
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
}

impl Changes {
    /// Whatever there is may have changed.
    #[must_use]
    pub fn everything() -> Self {
        Changes { everything: true, ..Changes::default() }
    }

    /// One more.
    pub fn add(&mut self, change: Change) {
        match change {
            Change::Nothing => {}
            Change::Endpoints(services) => self.endpoints.extend(services),
            Change::Object(object) => drop(self.objects.insert(object)),
            Change::Everything => self.everything = true,
        }
    }

    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// Whether endpoints are all that has changed.
    #[must_use]
    pub fn is_of_endpoints(&self) -> bool {
        !self.everything && self.objects.is_empty()
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.everything
    }

    pub(crate) fn objects(&self) -> &BTreeSet<ObjectRef> {
        &self.objects
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
    pub(crate) ingress_classes: BTreeMap<ObjectKey, Arc<IngressClass>>,
    pub(crate) ingresses: BTreeMap<ObjectKey, Arc<Ingress>>,
    pub(crate) namespaces: BTreeMap<ObjectKey, Arc<Namespace>>,
    pub(crate) pods: Pods,
    pub(crate) secrets: BTreeMap<ObjectKey, Arc<Known>>,
    pub(crate) services: BTreeMap<ObjectKey, Arc<Service>>,
    /// By Service, then by name of the slice.
    slices: BTreeMap<(ObjectKey, ObjectKey), Arc<EndpointSlice>>,
    /// Which Service a slice belongs to, because a deletion only names the slice.
    slice_owners: BTreeMap<ObjectKey, ObjectKey>,
    ingress_classes_are_forbidden: bool,
    claims: Claims,
}

impl Resources {
    /// Adds an object or replaces the one of its name.
    pub fn apply(&mut self, object: Object) -> Change {
        let (kind, key) = (object.kind(), object.key());
        let changed = match object {
            Object::EndpointSlice(o) => return self.apply_slice(key, o),
            Object::Pod(o) => return self.apply_pod(&key, &o),
            Object::ConfigMap(o) => put(&mut self.config_maps, &key, o),
            Object::Ingress(o) => self.apply_ingress(&key, o),
            Object::IngressClass(o) => put(&mut self.ingress_classes, &key, o),
            Object::Namespace(o) => put(&mut self.namespaces, &key, o),
            Object::Secret(o) => put(&mut self.secrets, &key, Arc::new(Arc::unwrap_or_clone(o).into())),
            Object::Service(o) => put(&mut self.services, &key, o),
        };
        if changed { Change::Object(ObjectRef { kind, key }) } else { Change::Nothing }
    }

    /// Removes an object, if it is there.
    pub fn delete(&mut self, kind: Kind, key: &ObjectKey) -> Change {
        let was_there = match kind {
            Kind::ConfigMap => self.config_maps.remove(key).is_some(),
            Kind::EndpointSlice => return self.delete_slice(key),
            Kind::Ingress => self.delete_ingress(key),
            Kind::IngressClass => self.ingress_classes.remove(key).is_some(),
            Kind::Namespace => self.namespaces.remove(key).is_some(),
            Kind::Pod => return self.delete_pod(key),
            Kind::Secret => self.secrets.remove(key).is_some(),
            Kind::Service => self.services.remove(key).is_some(),
        };
        if was_there { Change::Object(ObjectRef { kind, key: key.clone() }) } else { Change::Nothing }
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
            self.ingresses.get(key).into_iter().for_each(|now| self.claims.add(now));
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
        let slices = self.slices.range(from..).take_while(move |((other, _), _)| other == service);
        slices.map(|(_, slice)| slice)
    }

    fn apply_slice(&mut self, key: ObjectKey, slice: Arc<EndpointSlice>) -> Change {
        let service = slice.service.as_deref().map(|name| ObjectKey::new(key.namespace.clone(), name));
        let Some(service) = service else {
            return self.delete_slice(&key);
        };
        if self.slice_owners.get(&key).is_some_and(|owner| *owner != service) {
            // The slice moved to another Service, which no controller of Kubernetes does: rare enough to redo all.
            self.delete_slice(&key);
            self.slice_owners.insert(key.clone(), service.clone());
            put(&mut self.slices, &(service, key), slice);
            return Change::Everything;
        }
        self.slice_owners.insert(key.clone(), service.clone());
        let changed = put(&mut self.slices, &(service.clone(), key), slice);
        if changed { Change::Endpoints([service].into()) } else { Change::Nothing }
    }

    fn delete_slice(&mut self, key: &ObjectKey) -> Change {
        let Some(service) = self.slice_owners.remove(key) else { return Change::Nothing };
        self.slices.remove(&(service.clone(), key.clone()));
        Change::Endpoints([service].into())
    }

    fn apply_pod(&mut self, key: &ObjectKey, pod: &Pod) -> Change {
        if self.pods.apply(key, pod) { self.change_of_pod(key) } else { Change::Nothing }
    }

    fn delete_pod(&mut self, key: &ObjectKey) -> Change {
        if self.pods.delete(key) { self.change_of_pod(key) } else { Change::Nothing }
    }

    /// Weights change rarely: looking through the namespace costs less than an index of all pods.
    fn change_of_pod(&self, pod: &ObjectKey) -> Change {
        let from = (ObjectKey::new(pod.namespace.clone(), ""), ObjectKey::default());
        let near =
            self.slices.range(from..).take_while(|((service, _), _)| service.namespace == pod.namespace);
        let services =
            services_of(pod, near.map(|((service, _), slice)| (service, slice.endpoints.as_ref())));
        if services.is_empty() { Change::Nothing } else { Change::Endpoints(services) }
    }
}

/// Whether that changes anything.
fn put<K: Clone + Ord, T: PartialEq>(map: &mut BTreeMap<K, Arc<T>>, key: &K, object: Arc<T>) -> bool {
    if map.get(key).is_some_and(|known| *known == object) {
        return false;
    }
    map.insert(key.clone(), object);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slice(name: &str, service: &str, address: &str) -> Object {
        let object = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
            "endpoints": [{"addresses": [address]}],
        });
        Object::from_value(object).unwrap()
    }

    #[test]
    fn a_slice_changes_only_its_services_endpoints() {
        let mut resources = Resources::default();
        let service = ObjectKey::new("default", "shop");
        assert_eq!(
            resources.apply(slice("a", "shop", "10.0.0.1")),
            Change::Endpoints([service.clone()].into())
        );
        assert_eq!(resources.apply(slice("a", "shop", "10.0.0.1")), Change::Nothing);
        let key = ObjectKey::new("default", "a");
        assert_eq!(resources.delete(Kind::EndpointSlice, &key), Change::Endpoints([service.clone()].into()));
        assert_eq!(resources.slices_of(&service).count(), 0);
    }

    #[test]
    fn a_slice_that_moves_leaves_its_old_service() {
        let mut resources = Resources::default();
        resources.apply(slice("a", "shop", "10.0.0.1"));
        assert_eq!(resources.apply(slice("a", "cart", "10.0.0.1")), Change::Everything);
        assert_eq!(resources.slices_of(&ObjectKey::new("default", "shop")).count(), 0);
        assert_eq!(resources.slices_of(&ObjectKey::new("default", "cart")).count(), 1);
    }
}
