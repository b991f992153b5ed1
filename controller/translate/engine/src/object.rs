//! The objects that Sluice reads.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::IngressClass;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sluice_syntax::{is_dns_name, shortened};

use crate::kind::for_each_kind;
use crate::object_names::HasNames;
use crate::{EndpointSlice, Ingress, Kind, ObjectKey, ObjectRef, Pod, Service};

macro_rules! objects {
    ($($(#[$doc:meta])* $kind:ident, $api_version:literal, $scope:ident;)*) => {
        /// One object of a kind that Sluice reads. Shared: a source remembers what it read.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Object { $($(#[$doc])* $kind(Arc<$kind>)),* }

        impl Object {
            fn parse(kind: Kind, value: Value, unknown: &mut Vec<String>) -> Result<Self, InvalidObject> {
                Ok(match kind { $(Kind::$kind => Object::$kind(Arc::new(typed(kind, value, unknown)?))),* })
            }

            /// Its kind.
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self { $(Object::$kind(_) => Kind::$kind),* }
            }

            fn names(&self) -> &dyn HasNames {
                match self { $(Object::$kind(object) => &**object),* }
            }

            fn names_mut(&mut self) -> &mut dyn HasNames {
                match self { $(Object::$kind(object) => Arc::<$kind>::make_mut(object)),* }
            }
        }
    };
}
for_each_kind!(objects);

/// Why a document is not an [`Object`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidObject {
    /// A kind that Sluice does not read: nothing to worry about, but worth a word.
    UnknownKind {
        /// `apiVersion/kind`, as written.
        kind: String,
    },
    /// No kind or no version: a file of another program.
    NoObject {
        /// The field that is missing.
        field: &'static str,
    },
    /// A kind that Sluice reads, with something wrong in it.
    Malformed {
        /// The object as it names itself, as far as that can be read.
        object: String,
        /// The field.
        field: String,
        /// Expected and got.
        reason: String,
    },
}

impl fmt::Display for InvalidObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InvalidObject::UnknownKind { kind } => {
                write!(f, "{kind}: not a kind that Sluice reads; skipped")
            }
            InvalidObject::NoObject { field } => write!(
                f,
                "document: {field}: expected a Kubernetes object, got none; object not served"
            ),
            InvalidObject::Malformed {
                object,
                field,
                reason,
            } => {
                write!(f, "{object}: {field}: {reason}; object not served")
            }
        }
    }
}

impl std::error::Error for InvalidObject {}

impl Object {
    /// Reads one document of a manifest. A namespaced object without a namespace is in `default`, as for kubectl.
    pub fn from_value(value: Value) -> Result<Self, InvalidObject> {
        Object::with_unknown_fields(value).map(|(object, _)| object)
    }

    /// The same, with the fields that its kind does not have: the API server ignores them, and kubectl refuses them.
    pub fn with_unknown_fields(value: Value) -> Result<(Self, Vec<String>), InvalidObject> {
        let api_version = text(&value, "apiVersion");
        let kind_name = text(&value, "kind");
        let kind = Kind::ALL
            .iter()
            .find(|k| k.as_str() == kind_name && k.api_version() == api_version);
        let Some(&kind) = kind else {
            return Err(unknown(&api_version, &kind_name));
        };
        let mut unknown_fields = Vec::new();
        let mut object = Object::parse(kind, value, &mut unknown_fields)?;
        if kind.is_namespaced() && object.names().namespace().is_none() {
            object.names_mut().set_namespace("default".to_owned());
        }
        check_names(kind, object.names())?;
        Ok((object, unknown_fields))
    }

    /// Its namespace and name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        self.names().key()
    }

    /// Its kind and name.
    #[must_use]
    pub fn reference(&self) -> ObjectRef {
        ObjectRef {
            kind: self.kind(),
            key: self.key(),
        }
    }
}

fn typed<T: DeserializeOwned>(
    kind: Kind,
    value: Value,
    unknown: &mut Vec<String>,
) -> Result<T, InvalidObject> {
    let object = described(kind.as_str(), &value);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(value, &mut track);
    // Of a Pod, only the metadata is read.
    let ignored = |path: serde_ignored::Path<'_>| {
        if kind != Kind::Pod {
            unknown.push(shortened(&field(&path)));
        }
    };
    serde_ignored::deserialize(tracked, ignored).map_err(|error| {
        let field = track.path().to_string();
        let reason = with_advice(in_words(error.to_string()), &field);
        InvalidObject::Malformed {
            object,
            field,
            reason,
        }
    })
}

/// Types of Rust in an error, as what a manifest has in their place.
fn in_words(error: String) -> String {
    const EXPECTED: &str = ", expected ";
    let Some((found, name)) = error.rsplit_once(EXPECTED) else {
        return error;
    };
    let name = name.strip_prefix("struct ").unwrap_or(name);
    let words = match name {
        "IntOrString" => "an integer or a string",
        "i32" | "i64" | "u16" | "u32" | "u64" => "an integer",
        "f32" | "f64" => "a number",
        _ if name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            "a map"
        }
        _ => return error,
    };
    format!("{found}{EXPECTED}{words}")
}

/// YAML's `true` and `8` are no texts, `"true"` and `"8"` are. Elsewhere a text that looks like one of them is seldom right.
fn with_advice(error: String, field: &str) -> String {
    let holds_any_text = ["metadata.", "data."]
        .iter()
        .any(|start| field.starts_with(start));
    let is_of = |name: &str| error.starts_with(&format!("invalid type: {name} "));
    let is_plain = ["boolean", "integer", "floating point"]
        .into_iter()
        .any(is_of);
    match holds_any_text && is_plain && error.ends_with("expected a string") {
        true => error + " (put it in quotes)",
        false => error,
    }
}

fn field(path: &serde_ignored::Path<'_>) -> String {
    use serde_ignored::Path;
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => format!("{}[{index}]", field(parent)),
        Path::Map { parent, key } => match field(parent).as_str() {
            "" => key.clone(),
            parent => format!("{parent}.{key}"),
        },
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => field(parent),
    }
}

/// Names become parts of ids, file names and log lines: what the API server would refuse never gets that far.
fn check_names(kind: Kind, object: &dyn HasNames) -> Result<(), InvalidObject> {
    let name = object.name().unwrap_or_default();
    let namespace = object.namespace().unwrap_or("default");
    let malformed = |field: &str, got: &str| InvalidObject::Malformed {
        object: kind.as_str().to_owned(),
        field: field.to_owned(),
        reason: format!("expected a DNS name, got {:?}", shortened(got)),
    };
    if !is_dns_name(name) {
        return Err(malformed("metadata.name", name));
    }
    if !is_dns_name(namespace) {
        return Err(malformed("metadata.namespace", namespace));
    }
    Ok(())
}

fn unknown(api_version: &str, kind: &str) -> InvalidObject {
    match (api_version, kind) {
        (_, "") => InvalidObject::NoObject { field: "kind" },
        ("", _) => InvalidObject::NoObject {
            field: "apiVersion",
        },
        _ => InvalidObject::UnknownKind {
            kind: format!("{}/{}", shortened(api_version), shortened(kind)),
        },
    }
}

fn described(kind: &str, value: &Value) -> String {
    let metadata = value.get("metadata").unwrap_or(&Value::Null);
    let name = text(metadata, "name");
    match text(metadata, "namespace").as_str() {
        "" => format!("{kind} {}", shortened(&name)),
        namespace => format!("{kind} {}/{}", shortened(namespace), shortened(&name)),
    }
}

fn text(value: &Value, field: &str) -> String {
    value
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ingress(metadata: Value, spec: Value) -> Value {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec})
    }

    #[test]
    fn an_object_without_a_namespace_is_in_default() {
        let object = Object::from_value(ingress(json!({"name": "a"}), json!({}))).unwrap();
        assert_eq!(object.reference().to_string(), "Ingress default/a");
    }

    #[test]
    fn a_malformed_object_is_named_with_its_field() {
        let spec = json!({"rules": [{"http": {"paths": [{"path": 7}]}}]});
        let error =
            Object::from_value(ingress(json!({"name": "a", "namespace": "n"}), spec)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Ingress n/a: spec.rules[0].http.paths[0].path: invalid type: integer `7`, expected a string; \
             object not served"
        );
    }

    #[test]
    fn what_is_expected_is_a_word_of_manifests() {
        for (spec, expected) in [
            (
                json!("foo"),
                "spec: invalid type: string \"foo\", expected a map;",
            ),
            (json!({"rules": "foo"}), "expected a sequence;"),
            (json!({"rules": [{"http": 7}]}), "expected a map;"),
            (
                json!({"defaultBackend": {"service": {"name": "a", "port": {"number": []}}}}),
                "expected an integer;",
            ),
        ] {
            let error = Object::from_value(ingress(json!({"name": "a"}), spec)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn fields_that_the_kind_does_not_have_are_named() {
        let spec =
            json!({"rule": [], "rules": [{"http": {"paths": [], "pathes": [{"path": "/"}]}}]});
        let mut document = ingress(json!({"name": "a", "labels": {"any": "x"}}), spec);
        document["status"] = json!({"loadBalancer": {}});
        document["x\n"] = json!(null);
        let (_, unknown) = Object::with_unknown_fields(document).unwrap();
        assert_eq!(
            unknown,
            ["spec.rule", "spec.rules[0].http.pathes", "x\u{fffd}"]
        );
    }

    #[test]
    fn hostile_names_never_become_objects() {
        for name in ["", "a/b", "a\nb", "../x", "A", "a b", "$x", "..", "-a"] {
            assert!(
                Object::from_value(ingress(json!({"name": name}), json!({}))).is_err(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn other_kinds_are_named_and_skipped() {
        let error =
            Object::from_value(json!({"apiVersion": "apps/v1", "kind": "Deployment"})).unwrap_err();
        assert_eq!(
            error,
            InvalidObject::UnknownKind {
                kind: "apps/v1/Deployment".into()
            }
        );
    }
}
