//! The words of an ingress file. An unknown word is an error, so that no expectation is ever skipped.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::backend::Backend;
use super::then::Then;
use super::when::When;

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Tells it from others.
    pub id: String,
    /// The area.
    pub area: String,
    /// The title.
    pub title: String,
    /// The world before the first check.
    #[serde(default)]
    pub given: Given,
    /// In this order, in one world.
    pub checks: Vec<Check>,
    /// The source of the behaviour; for readers.
    #[serde(default, rename = "source")]
    _source: Value,
    /// For readers.
    #[serde(default, rename = "note")]
    _note: Value,
}

impl Case {
    /// Reads a case; the error names the word.
    pub fn read(case: &Value) -> Result<Case, String> {
        let case: Case =
            serde_path_to_error::deserialize(case).map_err(|error| error.to_string())?;
        let targets = case.given.ingresses.iter().flat_map(Ingress::targets);
        // What `flatten` would let pass.
        let unknown = targets
            .flat_map(|target| target.others.keys())
            .next()
            .cloned();
        unknown.map_or(Ok(case), |word| {
            Err(format!("given.ingresses: unknown word `{word}`"))
        })
    }
}

/// A request or action, and what is expected of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The request or action.
    pub when: When,
    /// The expectation.
    pub then: Then,
    /// For readers.
    #[serde(default, rename = "note")]
    _note: Value,
}

/// The objects and services of a case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Given {
    /// Ingresses.
    pub ingresses: Vec<Ingress>,
    /// Number of pods by service.
    pub endpoints: BTreeMap<String, u16>,
    /// Services that are not plain ClusterIP ones.
    pub services: BTreeMap<String, Service>,
    /// Services that do not just echo.
    pub backends: BTreeMap<String, Backend>,
    /// Secrets: `tls for HOST`, or the data.
    pub secrets: BTreeMap<String, Secret>,
    /// The controller's ConfigMap.
    #[serde(deserialize_with = "some_texts")]
    pub configmap: Option<BTreeMap<String, String>>,
    /// Other ConfigMaps.
    pub configmaps: BTreeMap<String, BTreeMap<String, String>>,
    /// The controller's flags.
    pub flags: Vec<String>,
    /// `spec.controller` by IngressClass.
    pub ingressclasses: Option<BTreeMap<String, IngressClass>>,
    /// Labels by namespace.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// Permissions that the controller lacks.
    pub rbac: Option<Withheld>,
    /// The TCP services: `NAMESPACE/SERVICE:PORT[:PROXY[:PROXY]]` by port.
    pub tcp: BTreeMap<String, String>,
}

/// A right that the controller does not have: `no ingressclasses`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Withheld {
    /// The resource that it may not read.
    pub resource: String,
}

impl TryFrom<String> for Withheld {
    type Error = String;

    fn try_from(words: String) -> Result<Withheld, String> {
        match words.strip_prefix("no ") {
            Some(resource) if resource.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                Ok(Withheld {
                    resource: resource.to_owned(),
                })
            }
            _ => Err(format!("expected `no RESOURCE`, got {words:?}")),
        }
    }
}

/// An Ingress in few words.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Ingress {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: Option<String>,
    /// `spec.ingressClassName`.
    pub ingress_class_name: Option<String>,
    /// `metadata.annotations`.
    #[serde(deserialize_with = "texts")]
    pub annotations: BTreeMap<String, String>,
    /// `spec.defaultBackend`.
    pub default_backend: Option<Target>,
    /// `spec.tls`.
    pub tls: Vec<Tls>,
    /// `spec.rules`.
    pub rules: Vec<Rule>,
    /// Age: 1 is the oldest.
    pub creation_order: Option<u32>,
    /// Instead of an object (of admission): a body of this many bytes.
    #[serde(rename = "raw_body_bytes")]
    pub raw_body_bytes: Option<usize>,
}

impl Ingress {
    /// The namespace, or the one that cases use.
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or("demo")
    }

    /// Every backend that it names.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let paths = self
            .rules
            .iter()
            .flat_map(|rule| rule.paths.iter().map(|path| &path.target));
        paths.chain(&self.default_backend)
    }
}

/// `spec.tls[]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Tls {
    /// The hosts.
    pub hosts: Vec<String>,
    /// The Secret.
    pub secret_name: Option<String>,
}

/// `spec.rules[]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// The host; empty is any.
    pub host: Option<String>,
    /// The paths.
    pub paths: Vec<Path>,
}

/// `spec.rules[].http.paths[]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Path {
    /// The path.
    pub path: Option<String>,
    /// `Exact`, `Prefix` or `ImplementationSpecific`.
    pub path_type: Option<String>,
    /// The backend. (Unknown words end up in `Target::others`.)
    #[serde(flatten)]
    pub target: Target,
}

/// A service and its port, or a resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Target {
    /// The Service.
    pub service: Option<String>,
    /// Its port.
    pub port: Option<Port>,
    /// Instead of a service: `{apiGroup, kind, name}`.
    pub resource: Option<Value>,
    /// Words that nobody knows.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

/// A port by number or by name.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(untagged)]
pub enum Port {
    /// By number.
    Number(u16),
    /// By name.
    Name(String),
}

/// A Service object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Service {
    /// `spec.type`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `spec.externalName`.
    #[serde(rename = "externalName")]
    pub external_name: Option<String>,
    /// `metadata.namespace`.
    pub namespace: Option<String>,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec.clusterIP`.
    #[serde(rename = "clusterIP")]
    pub cluster_ip: Option<String>,
    /// `spec.ports`: objects, or just numbers.
    pub ports: Option<Vec<ServicePort>>,
    /// `status.loadBalancer.ingress`.
    pub status: Value,
    /// `spec.externalIPs`.
    #[serde(rename = "externalIPs")]
    pub external_ips: Vec<String>,
}

/// A port of a Service object.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum ServicePort {
    /// Only the number.
    Number(u16),
    /// The object.
    Object(ServicePortObject),
}

/// `spec.ports[]` of a Service.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ServicePortObject {
    /// Its name.
    pub name: Option<String>,
    /// The number.
    pub port: u16,
    /// The pods' port: all pods listen on one, so that this only tells named from numbered.
    #[serde(default, rename = "targetPort")]
    _target_port: Value,
    /// `TCP` or `UDP`.
    pub protocol: Option<String>,
    /// `appProtocol`.
    pub app_protocol: Option<String>,
}

/// A Secret: in words, or the data.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Secret {
    /// `tls for HOST`.
    Words(String),
    /// The data, in plain text.
    Data(BTreeMap<String, String>),
}

/// An IngressClass: its controller, or more.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum IngressClass {
    /// `spec.controller`.
    Controller(String),
    /// With more.
    Object(IngressClassObject),
}

/// An IngressClass.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngressClassObject {
    /// `spec.controller`.
    pub controller: String,
    /// It is the default class.
    #[serde(default)]
    pub default: bool,
    /// `spec.parameters`.
    #[serde(default)]
    pub parameters: Option<Value>,
}

/// Numbers and booleans may stand where Kubernetes has text.
fn texts<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    let values: BTreeMap<String, Value> = BTreeMap::deserialize(deserializer)?;
    let text = |value: Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    Ok(values
        .into_iter()
        .map(|(name, value)| (name, text(value)))
        .collect())
}

fn some_texts<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    texts(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(given: Value, when: Value, then: Value) -> Result<Case, String> {
        let check = json!({ "when": when, "then": then });
        Case::read(
            &json!({ "id": "x", "area": "a", "title": "t", "given": given, "checks": [check] }),
        )
    }

    #[test]
    fn an_unknown_word_is_named_wherever_it_stands() {
        assert!(read(json!({}), json!({}), json!({})).is_ok());
        let target =
            json!({ "ingresses": [{ "rules": [{ "paths": [{ "path": "/", "colour": 1 }] }] }] });
        for (given, when, then, named) in [
            (json!({ "colour": 1 }), json!({}), json!({}), "colour"),
            (target, json!({}), json!({}), "colour"),
            (
                json!({ "ingresses": [{ "colour": 1 }] }),
                json!({}),
                json!({}),
                "colour",
            ),
            (json!({}), json!({ "colour": 1 }), json!({}), "colour"),
            (json!({}), json!({}), json!({ "colour": 1 }), "colour"),
            (
                json!({}),
                json!({}),
                json!({ "tls": { "colour": 1 } }),
                "colour",
            ),
        ] {
            let error = read(given, when, then).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn nothing_said_and_null_are_different() {
        let then = |then: Value| {
            read(json!({}), json!({}), then).unwrap().checks[0]
                .then
                .clone()
        };
        assert!(then(json!({})).set_cookie.is_none());
        assert!(matches!(
            then(json!({ "set_cookie": null })).set_cookie,
            Some(None)
        ));
        assert!(matches!(
            then(json!({ "set_cookie": {} })).set_cookie,
            Some(Some(_))
        ));
    }
}
