//! Names of objects, whatever else of their metadata is kept.

use std::sync::Arc;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use serde::Serialize;

use crate::ObjectKey;

/// Namespace and name of an object, and nothing else of its metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Names {
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) name: Option<Arc<str>>,
}

impl Names {
    /// The same texts.
    pub(crate) fn key(&self) -> ObjectKey {
        let [namespace, name] =
            [&self.namespace, &self.name].map(|part| part.clone().unwrap_or_default());
        ObjectKey { namespace, name }
    }
}

impl Names {
    /// Those of a key.
    pub(crate) fn of(key: &ObjectKey) -> Self {
        Names {
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
        }
    }
}

impl From<ObjectMeta> for Names {
    fn from(metadata: ObjectMeta) -> Self {
        Names {
            namespace: metadata.namespace.map(Arc::from),
            name: metadata.name.map(Arc::from),
        }
    }
}

/// An object that has a name.
pub(crate) trait HasNames {
    fn namespace(&self) -> Option<&str>;
    fn name(&self) -> Option<&str>;
    fn set_namespace(&mut self, namespace: String);

    fn key(&self) -> ObjectKey {
        let [namespace, name] = [self.namespace(), self.name()].map(Option::unwrap_or_default);
        ObjectKey::new(namespace, name)
    }
}

impl<T: Metadata<Ty = ObjectMeta>> HasNames for T {
    fn namespace(&self) -> Option<&str> {
        self.metadata().namespace.as_deref()
    }

    fn name(&self) -> Option<&str> {
        self.metadata().name.as_deref()
    }

    fn set_namespace(&mut self, namespace: String) {
        self.metadata_mut().namespace = Some(namespace);
    }
}

/// Implements [`HasNames`] for a type with a field `names`.
macro_rules! has_names {
    ($kind:ty) => {
        impl $crate::object_names::HasNames for $kind {
            fn namespace(&self) -> Option<&str> {
                self.names.namespace.as_deref()
            }

            fn name(&self) -> Option<&str> {
                self.names.name.as_deref()
            }

            fn set_namespace(&mut self, namespace: String) {
                self.names.namespace = Some(namespace.into());
            }

            fn key(&self) -> $crate::ObjectKey {
                self.names.key()
            }
        }
    };
}

pub(crate) use has_names;
