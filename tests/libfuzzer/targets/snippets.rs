//! Snippets of nginx's configuration: which are known to close nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use sluice_translate::{Object, Options, Resources, translate};

/// Nobody comes in.
fn closes(snippet: &str) -> bool {
    let name = "nginx.ingress.kubernetes.io/configuration-snippet";
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"namespace": "default", "name": "web", "annotations": {name: snippet}},
        "spec": {"ingressClassName": "nginx", "rules": [{"host": "a.test", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": backend},
        ]}}]},
    });
    let mut resources = Resources::default();
    drop(resources.apply(Object::from_value(ingress).expect("an Ingress")));
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "ops", "name": "settings"},
        "data": {"annotations-risk-level": "Critical", "allow-snippet-annotations": "true"},
    });
    drop(resources.apply(Object::from_value(settings).expect("a ConfigMap")));
    let configmap = Some(sluice_translate::ObjectKey::new("ops", "settings"));
    let translation = translate(
        &resources,
        &Options {
            class_is_implied: true,
            configmap,
            ..Options::default()
        },
    );
    json!(translation.config())
        .to_string()
        .contains("\"denied\"")
}

fuzz_target!(|text: &str| {
    // What closes nothing has been read to its end: what follows it counts. This is access control that is never served.
    if !closes(text) {
        assert!(
            closes(&format!("{text}\nauth_basic x;")),
            "{text:?} hides what follows it"
        );
        assert!(
            closes(&format!("auth_basic x;\n{text}")),
            "{text:?} hides what is before it"
        );
    }
});
