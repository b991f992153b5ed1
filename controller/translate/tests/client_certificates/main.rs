//! Certificates of clients guard a host as a whole: what of it cannot be enforced is lost for all of its paths, and so nothing of the host
//! is served (R6 of the security rules).

mod authorities;
#[path = "../authority/mod.rs"]
mod authority;
mod default_backend;
mod lost;
mod same_guard;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluice_ir::{Action, ServerName};
use sluice_translate::{
    Changes, DataPlane, Kind, Object, ObjectKey, Options, Report, Resources, Translation, translate,
};

use authority::Authority;

const HOST: &str = "a.example";
const OWNER: &str = "owner";
const FOREIGN: &str = "foreign";
/// Bytes that are no text.
const NOT_TEXT: &str = "MIL//w==";

fn secret(namespace: &str, name: &str, text: &Value, bytes: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
        "stringData": text, "data": bytes,
    })
}

/// The Secret `ca` in both namespaces.
fn authorities(authority: &Authority) -> Vec<Value> {
    let text = json!({"ca.crt": authority.certificate, "ca.crl": authority.list});
    let secret = |namespace| secret(namespace, "ca", &text, &json!({}));
    vec![secret(OWNER), secret(FOREIGN)]
}

fn config_map(data: &Value) -> Value {
    let metadata = json!({"name": "sluice", "namespace": "sluice"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// An Ingress for one path of the host. Keys with a slash are written as they are, and `ca` is the Secret of its namespace.
fn ingress(
    namespace: &str,
    name: &str,
    year: u16,
    path: &str,
    annotations: &[(&str, &str)],
) -> Value {
    let key = |name: &str| match name.contains('/') {
        true => name.to_owned(),
        false => format!("nginx.ingress.kubernetes.io/{name}"),
    };
    let annotations: serde_json::Map<String, Value> = annotations
        .iter()
        .map(|(name, value)| match *value {
            "ca" => (key(name), json!(format!("{namespace}/ca"))),
            value => (key(name), json!(value)),
        })
        .collect();
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let paths = json!([{"path": path, "pathType": "Prefix", "backend": backend}]);
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {
            "name": name, "namespace": namespace, "annotations": annotations,
            "creationTimestamp": format!("{year}-01-01T00:00:00Z"),
        },
        "spec": {"ingressClassName": "nginx", "rules": [{"host": HOST, "http": {"paths": paths}}]},
    })
}

fn options() -> Options {
    Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("sluice", "sluice")),
        ..Options::default()
    }
}

fn resources(objects: &[Value]) -> Resources {
    let mut resources = Resources::default();
    let service = |namespace| {
        let metadata = json!({"name": "web", "namespace": namespace});
        json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}})
    };
    let services = [service(OWNER), service(FOREIGN)];
    for object in objects.iter().chain(&services) {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    resources
}

fn translated(objects: &[Value]) -> Translation {
    translate(&resources(objects), &options())
}

/// Paths of a host that lead somewhere, or are answered by something else than a 503.
fn open_paths(translation: &Translation, host: &str) -> BTreeSet<String> {
    let name = ServerName::parse(host).unwrap();
    let routes = &translation.config().servers[&name].routes;
    let open = routes.iter().filter(|route| route.action != Action::Denied);
    open.map(|route| route.matches.path.text().to_owned())
        .collect()
}

fn reports_of<'t>(translation: &'t Translation, name: &str) -> Vec<&'t Report> {
    let reports = translation.reports().into_iter();
    reports
        .filter(|report| &*report.object.key.name == name)
        .collect()
}
