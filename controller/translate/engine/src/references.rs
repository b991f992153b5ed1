//! Objects that objects name: one place that says which of them may be read (R9 of the security rules).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use sluice_ir::ReasonCode;
use sluice_syntax::value;

use crate::known_secret::KnownSecret;
use crate::report::Cause;
use crate::{AddressPolicy, Kind, ObjectCache, ObjectKey, ObjectRef, Service};

/// Lookup of the objects that Ingresses may name, which records each as a dependency, whether it was there or not: what was
/// made with it holds until one of those changes.
pub struct DependencyTracker<'a> {
    cluster: &'a ObjectCache,
    /// Addresses that objects may name.
    pub addresses: &'a AddressPolicy,
    dependencies: RefCell<BTreeSet<ObjectRef>>,
}

impl<'a> DependencyTracker<'a> {
    /// A tracker without dependencies yet.
    #[must_use]
    pub fn new(cluster: &'a ObjectCache, addresses: &'a AddressPolicy) -> Self {
        DependencyTracker {
            cluster,
            addresses,
            dependencies: RefCell::default(),
        }
    }

    /// Looks up a Service.
    pub fn service(&self, key: &ObjectKey) -> Option<&'a Service> {
        self.note(Kind::Service, key);
        self.cluster.service(key)
    }

    /// True if a Service exists.
    pub fn has_service(&self, key: &ObjectKey) -> bool {
        self.service(key).is_some()
    }

    /// Looks up a Secret.
    pub fn secret(&self, key: &ObjectKey) -> Option<&'a KnownSecret> {
        self.note(Kind::Secret, key);
        self.cluster.secret(key)
    }

    fn config_map(&self, key: &ObjectKey) -> Option<&'a ConfigMap> {
        self.note(Kind::ConfigMap, key);
        self.cluster.config_map(key)
    }

    /// Every object that was looked up.
    #[must_use]
    pub fn into_dependencies(self) -> BTreeSet<ObjectRef> {
        self.dependencies.into_inner()
    }

    fn note(&self, kind: Kind, key: &ObjectKey) {
        self.dependencies.borrow_mut().insert(ObjectRef {
            kind,
            key: key.clone(),
        });
    }
}

/// Resolver of references, within the rules on namespaces.
#[derive(Clone, Copy)]
pub struct References<'a> {
    /// Lookup of objects.
    pub tracker: &'a DependencyTracker<'a>,
    /// `allow-cross-namespace-resources`
    pub across_namespaces: bool,
}

impl<'a> References<'a> {
    /// The ConfigMap that an object of `namespace` names.
    pub fn config_map(
        self,
        namespace: &str,
        text: &str,
    ) -> Result<&'a BTreeMap<String, String>, Cause> {
        static NOTHING: BTreeMap<String, String> = BTreeMap::new();
        let key = self.key(namespace, text)?;
        let found = self.tracker.config_map(&key);
        let found = found.ok_or_else(|| Cause::missing(Kind::ConfigMap, key))?;
        Ok(found.data.as_ref().unwrap_or(&NOTHING))
    }

    /// The Secret that an object of `namespace` names, and its key.
    pub fn secret(
        self,
        namespace: &str,
        text: &str,
    ) -> Result<(ObjectKey, &'a KnownSecret), Cause> {
        let key = self.key(namespace, text)?;
        match self.tracker.secret(&key) {
            Some(secret) => Ok((key, secret)),
            None => Err(Cause::missing(Kind::Secret, key)),
        }
    }

    fn key(self, namespace: &str, text: &str) -> Result<ObjectKey, Cause> {
        let (named, name) = value::reference(text).map_err(|expected| {
            format!(
                "expected {expected}, got {:?}",
                sluice_syntax::shortened(text)
            )
        })?;
        match named {
            Some(other) if other != namespace && !self.across_namespaces => {
                let reason = format!(
                    "expected an object of namespace {namespace}, got one of {other} (allow-cross-namespace-resources is off)"
                );
                Err(Cause::new(ReasonCode::RefNotPermitted, reason))
            }
            other => Ok(ObjectKey::new(other.unwrap_or(namespace), name)),
        }
    }
}

/// Some references ingress-nginx takes with a namespace in front, and no others.
pub fn with_namespace(text: &str) -> Result<&str, String> {
    let got = || sluice_syntax::shortened(text);
    let wrong = || format!("expected a namespace, a slash and a name, got {:?}", got());
    if text.contains('/') {
        Ok(text)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Object;

    #[test]
    fn another_namespace_is_read_only_when_the_operator_says_so() {
        let mut cluster = ObjectCache::default();
        let metadata = json!({"name": "m", "namespace": "other"});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"A": "b"}});
        cluster.apply(Object::from_value(object).unwrap());
        let read = |across_namespaces, text: &str| {
            let addresses = AddressPolicy::default();
            let tracker = DependencyTracker::new(&cluster, &addresses);
            References {
                tracker: &tracker,
                across_namespaces,
            }
            .config_map("own", text)
            .map(BTreeMap::len)
        };
        assert_eq!(read(true, "other/m"), Ok(1));
        assert!(
            read(false, "other/m")
                .unwrap_err()
                .reason
                .contains("allow-cross-namespace-resources")
        );
        assert!(read(true, "m").unwrap_err().reason.contains("own/m"));
        assert!(read(true, "../m").is_err());
    }
}
