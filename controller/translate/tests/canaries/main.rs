//! Canaries: how their pods are spoken to, and what they are canaries of.

mod default_backends;
mod refused;
mod transports;

use serde_json::{Map, Value, json};
use sluice_ir::{BackendId, Config, HttpRoute, ServerName};
use sluice_translate::{Object, Options, Report, Resources, Translation, ids, translate};

const PREFIX: &str = "nginx.ingress.kubernetes.io";

type Annotations<'a> = &'a [(&'a str, &'a str)];

fn annotations(of: Annotations<'_>) -> Map<String, Value> {
    let of = of.iter();
    of.map(|(name, value)| (format!("{PREFIX}/{name}"), json!(value)))
        .collect()
}

fn backend(service: &str) -> Value {
    json!({"service": {"name": service, "port": {"number": 80}}})
}

fn ingress(name: &str, of: Annotations<'_>, mut spec: Value) -> Value {
    spec["ingressClassName"] = json!("nginx");
    let (namespace, name) = name.split_once('/').unwrap_or(("a", name));
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations(of)}, "spec": spec,
    })
}

/// A path `/` of a host.
fn rule(host: &str, service: &str) -> Value {
    let path = json!({"path": "/", "pathType": "Prefix", "backend": backend(service)});
    json!({"rules": [{"host": host, "http": {"paths": [path]}}]})
}

fn canary(name: &str, more: Annotations<'_>, spec: Value) -> Value {
    let own = [("canary", "true"), ("canary-weight", "10")];
    ingress(name, &[&own, more].concat(), spec)
}

/// Services with a pod each, and a Secret for TLS.
fn world(pods: &[&str]) -> Vec<Value> {
    let made = rcgen::generate_simple_self_signed(["pods.test".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pods", "namespace": "a"},
        "stringData": {"tls.crt": chain, "tls.key": key, "ca.crt": chain},
    });
    let services = ["web", "new", "errors"].iter().map(|name| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "a"},
            "spec": {"ports": [{"port": 80}]},
        })
    });
    let slices = pods.iter().enumerate().map(|(n, name)| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": name, "namespace": "a", "labels": {"kubernetes.io/service-name": name}},
            "endpoints": [{"addresses": [format!("10.0.0.{n}")]}], "ports": [{"port": 80}],
        })
    });
    [secret].into_iter().chain(services).chain(slices).collect()
}

const ALL: &[&str] = &["web", "new", "errors"];

fn translated(pods: &[&str], ingresses: &[Value]) -> Translation {
    let mut resources = Resources::default();
    for object in world(pods).iter().chain(ingresses) {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    translate(&resources, &options)
}

fn root<'c>(config: &'c Config, host: &str) -> &'c HttpRoute {
    let server = &config.servers[&ServerName::parse(host).unwrap()];
    let mut routes = server.routes.iter();
    routes
        .find(|route| route.matches.path.text() == "/")
        .unwrap()
}

/// The Services that are canaries of a route, each of which is spoken to as the primary backend is.
fn canaries(config: &Config, host: &str) -> Vec<String> {
    let route = root(config, host);
    let transport = |id: &BackendId| &config.backends[id].transport;
    let canaries = route.canaries.iter().map(|canary| {
        let main = route.primary_backend().unwrap();
        assert_eq!(transport(&canary.backend), transport(main));
        let attempts = |id: &BackendId| config.backends[id].attempts;
        assert_eq!(attempts(&canary.backend), attempts(main));
        assert_eq!(
            canary.https_backend.is_some(),
            route.https_backend.is_some()
        );
        let https = canary.https_backend.iter().zip(&route.https_backend);
        for (https, of_main) in https {
            assert_eq!(transport(https), transport(of_main));
        }
        for id in canary.backends() {
            assert_eq!(ids::service_of(id), ids::service_of(&canary.backend));
        }
        ids::upstream_name(&canary.backend).to_owned()
    });
    canaries.collect()
}

fn reports<'t>(translation: &'t Translation, ingress: &str) -> Vec<&'t Report> {
    let reports = translation.reports().into_iter();
    reports
        .filter(|report| &*report.object.key.name == ingress)
        .collect()
}
