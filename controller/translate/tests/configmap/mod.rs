//! Ingresses of two namespaces, and the ConfigMap.

use serde_json::{Value, json};
use sluice_ir::{Config, HttpRoute, ServerName};
use sluice_translate::{DataPlane, Object, ObjectKey, Options, Resources, Translation, translate};

fn path(text: &str) -> Value {
    json!({"path": text, "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}})
}

/// An Ingress of a namespace; without paths if there are none.
pub(crate) fn ingress(namespace: &str, host: &str, annotations: &Value, paths: &[&str]) -> Value {
    let annotations = annotations.as_object().into_iter().flatten();
    let annotations: serde_json::Map<String, Value> = annotations
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value.clone()))
        .collect();
    let paths: Vec<Value> = paths.iter().map(|text| path(text)).collect();
    let mut rule = json!({"http": {"paths": paths}});
    let name = if host.is_empty() { "web" } else { host };
    if !host.is_empty() {
        rule["host"] = json!(host);
    }
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": [rule]},
    })
}

/// With a default backend, and these keys of the ConfigMap beside those that permit snippets.
pub(crate) fn translated(keys: &Value, ingresses: &[Value]) -> Translation {
    translated_for(None, keys, ingresses)
}

/// The same for a data plane.
pub(crate) fn translated_for(
    data_plane: Option<DataPlane>,
    keys: &Value,
    ingresses: &[Value],
) -> Translation {
    let mut data =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    for (key, value) in keys.as_object().into_iter().flatten() {
        data[key] = value.clone();
    }
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": "sys"}, "data": data,
    });
    let service = |namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": namespace},
            "spec": {"ports": [{"port": 80}]},
        })
    };
    let mut resources = Resources::default();
    let objects = [settings, service("a"), service("b")];
    for object in objects.iter().chain(ingresses) {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        data_plane,
        configmap: Some(ObjectKey::new("sys", "cm")),
        default_backend_service: Some(ObjectKey::new("a", "web")),
        ..Options::default()
    };
    translate(&resources, &options)
}

pub(crate) fn routes<'a>(config: &'a Config, host: &str) -> Vec<&'a HttpRoute> {
    let name = ServerName::parse(host).unwrap();
    let is_health = |route: &&HttpRoute| route.matches.path.text() == "/healthz";
    let routes = config.servers[&name].routes.iter();
    routes.filter(|route| !is_health(route)).collect()
}
