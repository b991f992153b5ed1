//! The annotations and keys behind a route: it would be another one without them.

use serde_json::{Value, json};
use sluice_ir::{Config, HttpRoute, ServerName};
use sluice_translate::{Object, ObjectKey, Options, Resources, Setting, Subject, translate};

fn ingress(name: &str, path: &str, service: &str, annotations: &Value) -> Value {
    let annotations = annotations.as_object().into_iter().flatten();
    let annotations: serde_json::Map<String, Value> = annotations
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value.clone()))
        .collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": "a", "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": [{"host": "a.test", "http": {"paths": [{
            "path": path, "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}},
        }]}}]},
    })
}

fn service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "a"},
        "spec": {"ports": [{"port": 80}]},
    })
}

/// Names of the settings behind the route of a path.
fn causes(objects: &[Value], path: &str) -> Vec<String> {
    let mut resources = Resources::default();
    for object in objects.iter().chain(&[service("web"), service("new")]) {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("sys", "cm")),
        ..Options::default()
    };
    let snapshot = translate(&resources, &options).snapshot();
    let server = ServerName::parse("a.test").unwrap();
    let find = |config: &Config| -> Option<HttpRoute> {
        let mut routes = config.servers.get(&server)?.routes.iter();
        routes.find(|it| it.matches.path.text() == path).cloned()
    };
    let route = find(snapshot.config()).unwrap();
    let subject = Subject {
        inputs: (&resources, &options),
        snapshot: &snapshot,
        server: Some(&server),
        route: Some(&route.id),
    };
    let causes = subject.causes(|| true, find);
    assert!(causes.is_whole);
    let none = subject.causes(|| false, find);
    assert!(none.settings.is_empty());
    let causes = causes.settings.into_iter();
    let causes = causes.map(|Setting { object, name, .. }| {
        let name = name.rsplit('/').next().unwrap_or_default().to_owned();
        format!("{}: {name}", object.key.name)
    });
    causes.collect()
}

/// Those with an effect, whatever it is on; not those without one, of other paths, or that are refused.
#[test]
fn a_setting_is_behind_a_route_that_is_another_without_it() {
    for (name, value) in [
        ("proxy-read-timeout", "5"),
        ("proxy-body-size", "2m"),
        ("limit-rps", "5"),
        ("whitelist-source-range", "10.0.0.0/8"),
        ("enable-cors", "true"),
        ("permanent-redirect", "https://b.test/"),
        ("force-ssl-redirect", "true"),
        ("upstream-vhost", "c.test"),
        ("rewrite-target", "/x"),
        ("mirror-target", "https://m.test"),
        ("custom-http-errors", "404"),
    ] {
        let annotations = json!({name: value, "proxy-buffer-size": "much"});
        let other = json!({"limit-rpm": "7"});
        let objects = [
            ingress("one", "/a", "web", &annotations),
            ingress("two", "/b", "web", &other),
        ];
        assert_eq!(causes(&objects, "/a"), [format!("one: {name}")], "{name}");
    }
}

#[test]
fn canaries_and_the_configmap_have_their_part_in_it() {
    let canary = json!({"canary": "true", "canary-weight": "10"});
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm", "namespace": "sys"},
        "data": {"proxy-read-timeout": "7", "server-tokens": "false"},
    });
    let objects = [
        config_map,
        ingress("one", "/a", "web", &json!({})),
        ingress("two", "/a", "new", &canary),
    ];
    let expected = [
        "two: canary",
        "two: canary-weight",
        "cm: proxy-read-timeout",
    ];
    assert_eq!(causes(&objects, "/a"), expected);
}

/// A canary takes its part of whatever leads to the Service, also on a host that it does not name.
#[test]
fn a_canary_of_another_host_has_its_part_in_it() {
    let canary = json!({"canary": "true", "canary-weight": "10"});
    let mut elsewhere = [
        ingress("main", "/x", "web", &json!({"proxy-read-timeout": "7"})),
        ingress("canary", "/x", "new", &canary),
    ];
    for object in &mut elsewhere {
        object["spec"]["rules"][0]["host"] = "b.test".into();
    }
    let here = ingress("one", "/a", "web", &json!({}));
    let objects = [&elsewhere[..], &[here]].concat();
    assert_eq!(
        causes(&objects, "/a"),
        ["canary: canary", "canary: canary-weight"]
    );
}
