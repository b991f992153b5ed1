//! Settings of the operator's for all hosts: no tenant takes them from others, or goes round them by how a path is written.

use serde_json::{Value, json};
use sluice_ir::{Config, ConnectionSettings, ServerName};
use sluice_translate::{Object, ObjectKey, Options, Resources, translate};

fn config(ingress: &Value, settings: &Value) -> Config {
    let mut resources = Resources::default();
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": "sys"}, "data": settings,
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "a"},
        "spec": {"ports": [{"port": 80}]},
    });
    for object in [ingress, &config_map, &service] {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("sys", "cm")),
        ..Options::default()
    };
    translate(&resources, &options).config().clone()
}

fn ingress(host: Option<&str>, path: &str, annotations: &Value) -> Value {
    let annotations = annotations.as_object().into_iter().flatten();
    let annotations: serde_json::Map<String, Value> = annotations
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value.clone()))
        .collect();
    let mut rule = json!({"http": {"paths": [{
        "path": path, "pathType": "ImplementationSpecific", "backend": {"service": {"name": "web", "port": {"number": 80}}},
    }]}});
    if let Some(host) = host {
        rule["host"] = json!(host);
    }
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "a", "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": [rule]},
    })
}

/// Only a path that takes nothing else is excepted from global authentication.
#[test]
fn patterns_are_excepted_where_all_that_they_take_is() {
    let settings = json!({"global-auth-url": "http://auth.sys.svc.cluster.local/"});
    let pattern = json!({"use-regex": "true"});
    for (path, annotations, is_guarded) in [
        ("/.well-known/acme-challenge/x", &json!({}), false),
        ("/.well-known/acme-challenge/x", &pattern, false),
        ("/.well-known/acme-challenge/(a|b)", &pattern, false),
        ("/.well-known/acme-challenge|/", &pattern, true),
        ("/.well-known/acme-challenge/x|/secret", &pattern, true),
        ("/.well-known/acme-challenge?", &pattern, true),
        ("/.well-known/acme-challenge*", &pattern, true),
        ("/.well-known/acme-challenge{0,1}", &pattern, true),
        ("/", &json!({}), true),
    ] {
        let config = config(&ingress(Some("a.test"), path, annotations), &settings);
        let server = &config.servers[&ServerName::parse("a.test").unwrap()];
        let routes = server.routes.iter();
        let of_it = routes
            .filter(|route| format!("{:?}", route.matches.path).contains("acme") || path == "/");
        let guarded: Vec<bool> = of_it
            .map(|route| route.policy.authentication.is_some())
            .collect();
        assert!(!guarded.is_empty(), "{path}");
        assert!(
            guarded.iter().all(|it| *it == is_guarded),
            "{path}: {guarded:?}"
        );
    }
}

/// nginx reads requests for every host with the default server's.
#[test]
fn room_for_headers_of_all_hosts_is_not_a_tenants() {
    let settings =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    let snippet = json!({"server-snippet": "client_header_buffer_size 1k;"});
    for (host, name) in [
        (None, ServerName::CatchAll),
        (Some("a.test"), ServerName::parse("a.test").unwrap()),
    ] {
        let config = config(&ingress(host, "/", &snippet), &settings);
        let room = config.servers[&name].connections;
        assert_eq!(
            room == ConnectionSettings::default(),
            host.is_none(),
            "{name}"
        );
    }
}
