//! An Ingress without the fields that are not used.

use k8s_openapi::api::networking::v1 as kubernetes;
use k8s_openapi::api::networking::v1::IngressSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use crate::ObjectKey;
use crate::object_names::{Names, has_names};

/// An Ingress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "kubernetes::Ingress")]
pub struct Ingress {
    pub(crate) names: Names,
    /// As they are written.
    pub annotations: AnnotationTexts,
    /// Its UID; none for one that is not stored.
    pub uid: Option<Box<str>>,
    /// The time when it was stored.
    pub created: Option<Time>,
    /// It is being deleted, and still there.
    pub is_being_deleted: bool,
    /// Its rules.
    pub spec: Option<IngressSpec>,
}

has_names!(Ingress);

/// Annotations as they are written, in the order of their keys. A map has room for eleven from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnnotationTexts(Box<[(Box<str>, Box<str>)]>);

impl Ingress {
    /// One that says nothing.
    #[must_use]
    pub fn named(key: &ObjectKey) -> Self {
        Ingress {
            names: Names::of(key),
            ..Ingress::default()
        }
    }

    /// Its namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        self.names.key()
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.names.namespace.as_deref().unwrap_or_default()
    }
}

impl AnnotationTexts {
    /// Keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self
            .0
            .binary_search_by(|(other, _)| other.as_ref().cmp(key));
        found.ok().map(|at| self.0[at].1.as_ref())
    }

    /// The same without a key.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        self.iter().filter(|(other, _)| *other != key).collect()
    }
}

impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for AnnotationTexts {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(texts: T) -> Self {
        let texts = texts.into_iter();
        let mut texts: Box<[_]> = texts
            .map(|(key, value)| (key.into(), value.into()))
            .collect();
        texts.sort_unstable();
        AnnotationTexts(texts)
    }
}

impl From<kubernetes::Ingress> for Ingress {
    fn from(ingress: kubernetes::Ingress) -> Self {
        let kubernetes::Ingress {
            mut metadata, spec, ..
        } = ingress;
        let annotations = metadata.annotations.take().unwrap_or_default();
        Ingress {
            annotations: annotations.into_iter().collect(),
            uid: metadata.uid.take().map(String::into_boxed_str),
            created: metadata.creation_timestamp.take(),
            is_being_deleted: metadata.deletion_timestamp.is_some(),
            names: metadata.into(),
            spec,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_found_by_their_keys() {
        let ingress: Ingress = serde_json::from_value(json!({
            "metadata": {"name": "a", "annotations": {"b/y": "2", "a/x": "1", "c": ""}},
        }))
        .unwrap();
        let annotations = &ingress.annotations;
        let all: Vec<_> = annotations.iter().collect();
        assert_eq!(all, [("a/x", "1"), ("b/y", "2"), ("c", "")]);
        assert!(
            all.iter()
                .all(|(key, value)| annotations.get(key) == Some(value))
        );
        assert_eq!(annotations.get("b"), None);
        let rest = annotations.without("b/y");
        assert_eq!(rest.iter().collect::<Vec<_>>(), [("a/x", "1"), ("c", "")]);
    }

    #[test]
    fn an_ingress_is_small() {
        assert!(size_of::<Ingress>() <= 400, "{}", size_of::<Ingress>());
    }
}
