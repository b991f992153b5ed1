//! Objects that objects name: one place that says which of them may be read (R9 of the security rules).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Service};

use crate::annotations::value;
use crate::certificate::Known;
use crate::{Kind, ObjectKey, ObjectRef, Resources};

/// Why a reference leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// As in a report.
    pub(crate) reason: String,
    /// The object that would cure it.
    pub(crate) missing: Option<ObjectRef>,
}

impl Fault {
    pub(crate) fn missing(kind: Kind, key: ObjectKey) -> Self {
        let missing = ObjectRef { kind, key };
        Fault { reason: missing.absence(), missing: Some(missing) }
    }
}

impl<T: Into<String>> From<T> for Fault {
    fn from(reason: T) -> Self {
        Fault { reason: reason.into(), missing: None }
    }
}

/// The objects that Ingresses may lead to. It keeps in mind which were looked for, whether they were there or not: what
/// was made with it holds until one of those changes.
pub(crate) struct Seen<'a> {
    resources: &'a Resources,
    looked_for: RefCell<BTreeSet<ObjectRef>>,
}

impl<'a> Seen<'a> {
    pub(crate) fn of(resources: &'a Resources) -> Self {
        Seen { resources, looked_for: RefCell::default() }
    }

    pub(crate) fn service(&self, key: &ObjectKey) -> Option<&'a Service> {
        self.note(Kind::Service, key);
        self.resources.services.get(key).map(AsRef::as_ref)
    }

    pub(crate) fn has_service(&self, key: &ObjectKey) -> bool {
        self.service(key).is_some()
    }

    pub(crate) fn secret(&self, key: &ObjectKey) -> Option<&'a Known> {
        self.note(Kind::Secret, key);
        self.resources.secrets.get(key).map(AsRef::as_ref)
    }

    fn config_map(&self, key: &ObjectKey) -> Option<&'a ConfigMap> {
        self.note(Kind::ConfigMap, key);
        self.resources.config_maps.get(key).map(AsRef::as_ref)
    }

    /// Everything that was looked for.
    pub(crate) fn into_looked_for(self) -> BTreeSet<ObjectRef> {
        self.looked_for.into_inner()
    }

    fn note(&self, kind: Kind, key: &ObjectKey) {
        self.looked_for.borrow_mut().insert(ObjectRef { kind, key: key.clone() });
    }
}

/// Who may name what.
#[derive(Clone, Copy)]
pub(crate) struct References<'a> {
    pub(crate) seen: &'a Seen<'a>,
    /// `allow-cross-namespace-resources`
    pub(crate) across_namespaces: bool,
}

impl<'a> References<'a> {
    /// The ConfigMap that an object of `namespace` names.
    pub(crate) fn config_map(
        self,
        namespace: &str,
        text: &str,
    ) -> Result<&'a BTreeMap<String, String>, Fault> {
        static NOTHING: BTreeMap<String, String> = BTreeMap::new();
        let key = self.key(namespace, text)?;
        let found = self.seen.config_map(&key);
        let found = found.ok_or_else(|| Fault::missing(Kind::ConfigMap, key))?;
        Ok(found.data.as_ref().unwrap_or(&NOTHING))
    }

    /// The Secret that an object of `namespace` names, and its key.
    pub(crate) fn secret(self, namespace: &str, text: &str) -> Result<(ObjectKey, &'a Known), Fault> {
        let key = self.key(namespace, text)?;
        match self.seen.secret(&key) {
            Some(secret) => Ok((key, secret)),
            None => Err(Fault::missing(Kind::Secret, key)),
        }
    }

    fn key(self, namespace: &str, text: &str) -> Result<ObjectKey, String> {
        let (named, name) = value::reference(text)
            .map_err(|expected| format!("expected {expected}, got {:?}", crate::object::shortened(text)))?;
        match named {
            Some(other) if other != namespace && !self.across_namespaces => Err(format!(
                "expected an object of namespace {namespace}, got one of {other} (allow-cross-namespace-resources is off)"
            )),
            other => Ok(ObjectKey::new(other.unwrap_or(namespace), name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Object;

    #[test]
    fn another_namespace_is_read_only_when_the_operator_says_so() {
        let mut resources = Resources::default();
        let metadata = json!({"name": "m", "namespace": "other"});
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"A": "b"}});
        resources.apply(Object::from_value(object).unwrap());
        let read = |across_namespaces, text: &str| {
            let seen = Seen::of(&resources);
            References { seen: &seen, across_namespaces }.config_map("own", text).map(BTreeMap::len)
        };
        assert_eq!(read(true, "other/m"), Ok(1));
        assert!(read(false, "other/m").unwrap_err().reason.contains("allow-cross-namespace-resources"));
        assert!(read(true, "m").unwrap_err().reason.contains("own/m"));
        assert!(read(true, "../m").is_err());
    }
}
