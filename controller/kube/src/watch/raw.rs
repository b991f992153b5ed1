//! Objects as the API server sends them, before anybody believes what is in them.
//!
//! kube reads a list as a whole: one object that does not fit its type would take the other ten thousand with it.
//! So the watch only asks for the names, and each object is read by itself.

use std::borrow::Cow;

use kube::api::{ApiResource, ObjectMeta};
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sluice_translate::{InvalidObject, Kind, Object, ObjectKey};

/// Written by kubectl and by controllers of Kubernetes, large or restless, and never part of what is served.
const NOISE: [&str; 2] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "endpoints.kubernetes.io/last-change-trigger-time",
];

/// One object; with `METADATA_ONLY`, the API server is asked to leave everything else out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raw<const METADATA_ONLY: bool> {
    /// Metadata that kube needs for a watch: name, namespace, version.
    metadata: ObjectMeta,
    value: Value,
}

/// An object in full.
pub(crate) type Whole = Raw<false>;
/// Only its metadata.
pub(crate) type Head = Raw<true>;

impl<const METADATA_ONLY: bool> Raw<METADATA_ONLY> {
    /// Its name.
    pub(crate) fn key(&self) -> ObjectKey {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        ObjectKey::new(part(&self.metadata.namespace), part(&self.metadata.name))
    }

    /// The version that tells one state of the object from another.
    pub(crate) fn version(&self) -> &str {
        self.metadata
            .resource_version
            .as_deref()
            .unwrap_or_default()
    }

    /// The JSON.
    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    /// Reads it as what it should be. What changes without a meaning for traffic (versions, status, noise) is left
    /// out, so that it does not look like a change: our own status writes would come back as work.
    pub(crate) fn object(self, kind: Kind) -> Result<Object, InvalidObject> {
        let mut value = self.value;
        if let Some(object) = value.as_object_mut() {
            object.remove("status");
            // The items of a list do not say what they are.
            object.insert("apiVersion".to_owned(), kind.api_version().into());
            object.insert("kind".to_owned(), kind.as_str().into());
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                strip(metadata);
            }
        }
        Object::from_value(value)
    }
}

fn strip(metadata: &mut Map<String, Value>) {
    for field in ["resourceVersion", "generation", "managedFields"] {
        metadata.remove(field);
    }
    if let Some(annotations) = metadata
        .get_mut("annotations")
        .and_then(Value::as_object_mut)
    {
        for name in NOISE {
            annotations.remove(name);
        }
    }
}

impl<'de, const METADATA_ONLY: bool> Deserialize<'de> for Raw<METADATA_ONLY> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |field: &str| Some(value.pointer(field)?.as_str()?.to_owned());
        let metadata = ObjectMeta {
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
            resource_version: text("/metadata/resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Raw { metadata, value })
    }
}

impl<const METADATA_ONLY: bool> Serialize for Raw<METADATA_ONLY> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<const METADATA_ONLY: bool> kube::Resource for Raw<METADATA_ONLY> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn metadata_api() -> bool {
        METADATA_ONLY
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// API resource of a kind.
pub(crate) fn resource(kind: Kind) -> ApiResource {
    use k8s_openapi::api::{core::v1, discovery::v1::EndpointSlice, networking::v1 as networking};
    match kind {
        Kind::ConfigMap => ApiResource::erase::<v1::ConfigMap>(&()),
        Kind::EndpointSlice => ApiResource::erase::<EndpointSlice>(&()),
        Kind::Ingress => ApiResource::erase::<networking::Ingress>(&()),
        Kind::IngressClass => ApiResource::erase::<networking::IngressClass>(&()),
        Kind::Namespace => ApiResource::erase::<v1::Namespace>(&()),
        Kind::Pod => ApiResource::erase::<v1::Pod>(&()),
        Kind::Secret => ApiResource::erase::<v1::Secret>(&()),
        Kind::Service => ApiResource::erase::<v1::Service>(&()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn raw(value: Value) -> Whole {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_says_nothing_about_traffic_is_no_change() {
        let object = |version: &str, address: &str| {
            raw(json!({
                "metadata": {
                    "namespace": "n", "name": "a", "resourceVersion": version, "generation": 1,
                    "managedFields": [{"manager": "sluice"}],
                    "annotations": {"kubectl.kubernetes.io/last-applied-configuration": version, "kept": "yes"},
                },
                "status": {"loadBalancer": {"ingress": [{"ip": address}]}},
            }))
            .object(Kind::Ingress)
            .unwrap()
        };
        assert_eq!(object("1", "10.0.0.1"), object("2", "10.0.0.2"));
        let Object::Ingress(ingress) = object("1", "10.0.0.1") else {
            panic!("not an Ingress")
        };
        let annotations: Vec<_> = ingress.annotations.iter().collect();
        assert_eq!(annotations, [("kept", "yes")]);
    }

    #[test]
    fn an_object_that_does_not_fit_its_type_is_still_named() {
        let bad = raw(json!({
            "metadata": {"namespace": "n", "name": "a", "resourceVersion": "7", "labels": 3},
            "spec": {"rules": "none"},
        }));
        assert_eq!((bad.key(), bad.version()), (ObjectKey::new("n", "a"), "7"));
        assert!(
            bad.object(Kind::Ingress)
                .unwrap_err()
                .to_string()
                .starts_with("Ingress n/a: ")
        );
    }

    #[test]
    fn unknown_fields_and_null_lists_are_read_as_kubernetes_reads_them() {
        let odd = raw(json!({
            "metadata": {"namespace": "n", "name": "a"},
            "spec": {"rules": null, "tls": null, "invention": {"of": ["tomorrow"]}},
            "also": "unknown",
        }));
        assert!(odd.object(Kind::Ingress).is_ok());
    }
}
