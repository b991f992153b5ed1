//! All inputs of translation: the objects that the cluster, or the folder of manifests, holds right now.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::IngressClass;
use sluice_ir::BackendId;
use sluice_syntax::DnsName;
use sluice_translate_engine::{
    Change, EndpointHealth, Ingress, Kind, Object, ObjectCache, ObjectKey, Resolution, Service, put,
};

use crate::claims::Claims;
use crate::global::KEYS;

/// Every object, by kind and name. Sources apply and delete; the translation reads.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// Objects that Ingresses refer to.
    pub(crate) cluster: ObjectCache,
    pub(crate) ingress_classes: BTreeMap<ObjectKey, Arc<IngressClass>>,
    pub(crate) ingresses: BTreeMap<ObjectKey, Arc<Ingress>>,
    ingress_classes_are_forbidden: bool,
    claims: Claims,
}

impl Resources {
    /// Adds an object or replaces the one of its name.
    pub fn apply(&mut self, object: Object) -> Change {
        let (kind, key) = (object.kind(), object.key());
        let has_changed = match object {
            Object::Ingress(o) => self.apply_ingress(&key, o),
            Object::IngressClass(o) => put(&mut self.ingress_classes, &key, o),
            other => return self.cluster.apply(other),
        };
        Change::of_object(kind, &key, has_changed)
    }

    /// Removes an object, if it is there.
    pub fn delete(&mut self, kind: Kind, key: &ObjectKey) -> Change {
        let was_there = match kind {
            Kind::Ingress => self.delete_ingress(key),
            Kind::IngressClass => self.ingress_classes.remove(key).is_some(),
            other => return self.cluster.delete(other, key),
        };
        Change::of_object(kind, key, was_there)
    }

    /// Makes the last content of this ConfigMap hold when it is deleted.
    pub fn hold_config_map(&mut self, key: ObjectKey) {
        self.cluster.hold_config_map(key);
    }

    /// Sets the answer of DNS for a name.
    pub fn resolve(&mut self, name: DnsName, resolution: Resolution) -> Change {
        self.cluster.resolve(name, resolution)
    }

    /// Drops the answer of DNS for a name.
    pub fn forget(&mut self, name: &DnsName) {
        self.cluster.forget(name);
    }

    /// Sets the health of a backend's endpoints.
    pub fn set_health(&mut self, backend: BackendId, health: EndpointHealth) -> Change {
        self.cluster.set_health(backend, health)
    }

    /// Drops the health of a backend's endpoints: they are no longer checked.
    pub fn forget_health(&mut self, backend: &BackendId) {
        self.cluster.forget_health(backend);
    }

    /// Sets the addresses of the machines that run Sluice, beside those that the options name.
    pub fn know_machines(&mut self, addresses: BTreeSet<IpAddr>) -> Change {
        self.cluster.know_machines(addresses)
    }

    /// IngressClasses cannot be listed: `spec.ingressClassName` then says nothing, and only the annotation counts.
    pub fn forbid_ingress_classes(&mut self) {
        self.ingress_classes_are_forbidden = true;
    }

    pub(crate) fn ingress_classes_are_readable(&self) -> bool {
        !self.ingress_classes_are_forbidden
    }

    /// ConfigMaps that hold nothing but keys of `--configmap`: settings of a controller.
    pub fn config_maps_of_controllers(&self) -> impl Iterator<Item = &ObjectKey> {
        let are_settings = |map: &ConfigMap| {
            let mut names = map
                .data
                .iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .peekable();
            names.peek().is_some() && names.all(|name| KEYS.iter().any(|key| key.name == name))
        };
        let all = self.cluster.config_maps();
        all.filter(move |(_, map)| are_settings(map))
            .map(|(key, _)| key)
    }

    /// A Service by its name.
    #[must_use]
    pub fn service(&self, key: &ObjectKey) -> Option<&Service> {
        self.cluster.service(key)
    }

    pub(crate) fn without_ingresses(&self) -> Resources {
        Resources {
            cluster: self.cluster.clone(),
            ingress_classes: self.ingress_classes.clone(),
            ingress_classes_are_forbidden: self.ingress_classes_are_forbidden,
            ..Resources::default()
        }
    }

    /// Names of the EndpointSlices of a Service.
    pub fn slices_of(&self, service: &ObjectKey) -> impl Iterator<Item = ObjectKey> {
        self.cluster.slice_names(service)
    }

    pub(crate) fn claims(&self) -> &Claims {
        &self.claims
    }

    fn apply_ingress(&mut self, key: &ObjectKey, ingress: Arc<Ingress>) -> bool {
        let before = self.ingresses.get(key).cloned();
        let has_changed = put(&mut self.ingresses, key, ingress);
        if has_changed {
            before.iter().for_each(|before| self.claims.remove(before));
            self.ingresses
                .get(key)
                .into_iter()
                .for_each(|now| self.claims.add(now));
        }
        has_changed
    }

    fn delete_ingress(&mut self, key: &ObjectKey) -> bool {
        let gone = self.ingresses.remove(key);
        gone.iter().for_each(|gone| self.claims.remove(gone));
        gone.is_some()
    }
}
