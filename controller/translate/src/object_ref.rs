//! Names of objects, and the kinds that Sluice reads.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Serialize, Serializer};

/// Namespace and name. Cluster-scoped objects have an empty namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The namespace, or nothing.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// From its parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        ObjectKey {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Parses `namespace/name`, as flags write it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        let plain = |s: &str| !s.is_empty() && !s.contains('/');
        (plain(namespace) && plain(name)).then(|| ObjectKey::new(namespace, name))
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => f.write_str(&self.name),
            namespace => write!(f, "{namespace}/{}", self.name),
        }
    }
}

/// The kinds of [`Object`](crate::Object).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Kind {
    /// core/v1
    ConfigMap,
    /// discovery.k8s.io/v1
    EndpointSlice,
    /// networking.k8s.io/v1
    Ingress,
    /// networking.k8s.io/v1
    IngressClass,
    /// core/v1
    Namespace,
    /// core/v1, of which only the metadata is read
    Pod,
    /// core/v1
    Secret,
    /// core/v1
    Service,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 8] = [
        Kind::ConfigMap,
        Kind::EndpointSlice,
        Kind::Ingress,
        Kind::IngressClass,
        Kind::Namespace,
        Kind::Pod,
        Kind::Secret,
        Kind::Service,
    ];

    /// The kind as manifests name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::ConfigMap => "ConfigMap",
            Kind::EndpointSlice => "EndpointSlice",
            Kind::Ingress => "Ingress",
            Kind::IngressClass => "IngressClass",
            Kind::Namespace => "Namespace",
            Kind::Pod => "Pod",
            Kind::Secret => "Secret",
            Kind::Service => "Service",
        }
    }

    /// Its group and version, as manifests write them.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Kind::ConfigMap | Kind::Namespace | Kind::Pod | Kind::Secret | Kind::Service => "v1",
            Kind::EndpointSlice => "discovery.k8s.io/v1",
            Kind::Ingress | Kind::IngressClass => "networking.k8s.io/v1",
        }
    }

    pub(crate) fn is_namespaced(self) -> bool {
        !matches!(self, Kind::IngressClass | Kind::Namespace)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names one object in a report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub key: ObjectKey,
}

impl ObjectRef {
    /// Reason in a report for an object that is named and is not there.
    pub(crate) fn absence(&self) -> String {
        format!(
            "expected a {}, got {:?}, which does not exist",
            self.kind,
            self.key.to_string()
        )
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

impl Serialize for ObjectRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

pub(crate) fn key_of(metadata: &ObjectMeta) -> ObjectKey {
    ObjectKey::new(
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}
