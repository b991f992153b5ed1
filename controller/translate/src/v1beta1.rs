//! Ingresses as they were written before Kubernetes 1.22, read as `networking.k8s.io/v1`.
//!
//! The API server no longer serves these versions, so only manifests hold them. The conversion is the API server's
//! own, with one kindness: a port that is a number in quotes is a number, as it was for ingress-nginx.

use serde_json::{Map, Value, json};
use sluice_syntax::shortened;

const V1: &str = "networking.k8s.io/v1";

/// Rewrites a document of an old version in place; says which version it was.
pub fn upgrade(document: &mut Value) -> Option<String> {
    let version = document.get("apiVersion")?.as_str()?.to_owned();
    let is_ingress = match (version.as_str(), document.get("kind")?.as_str()?) {
        ("extensions/v1beta1" | "networking.k8s.io/v1beta1", "Ingress") => true,
        ("networking.k8s.io/v1beta1", "IngressClass") => false,
        _ => return None,
    };
    if is_ingress && let Some(spec) = document.get_mut("spec").and_then(Value::as_object_mut) {
        upgrade_spec(spec);
    }
    document["apiVersion"] = V1.into();
    Some(version)
}

/// Fields of an Ingress of today's that are written, or left out, as in the old versions: each with what to write instead.
#[must_use]
pub fn leftovers(document: &Value) -> Vec<(String, String)> {
    let is_todays = document
        .get("apiVersion")
        .is_some_and(|version| version == V1)
        && document.get("kind").is_some_and(|kind| kind == "Ingress");
    let Some(spec) = document.get("spec").filter(|_| is_todays) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    if spec.get("backend").is_some() {
        let reason = "expected defaultBackend, got backend, which is v1beta1's name of it";
        said.push(("spec.backend".to_owned(), reason.to_owned()));
    }
    for (field, path) in paths(spec) {
        if path.get("pathType").is_none_or(Value::is_null) {
            let reason = "required since v1; read as ImplementationSpecific".to_owned();
            said.push((format!("{field}.pathType"), reason));
        }
    }
    for (field, backend) in backends(spec) {
        if let Some(reason) = old_backend(backend) {
            said.push((field, reason));
        }
    }
    said
}

/// With their fields.
fn backends(spec: &Value) -> Vec<(String, &Value)> {
    let default = spec
        .get("defaultBackend")
        .map(|backend| ("spec.defaultBackend".to_owned(), backend));
    let of_paths = paths(spec)
        .into_iter()
        .filter_map(|(field, path)| Some((format!("{field}.backend"), path.get("backend")?)));
    default.into_iter().chain(of_paths).collect()
}

/// With their fields.
fn paths(spec: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (rule, of_rule) in list(spec.get("rules")) {
        let paths = of_rule.get("http").and_then(|http| http.get("paths"));
        for (path, of_path) in list(paths) {
            found.push((format!("spec.rules[{rule}].http.paths[{path}]"), of_path));
        }
    }
    found
}

fn list(value: Option<&Value>) -> impl Iterator<Item = (usize, &Value)> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
}

/// Error of a backend in the old format; `None` if it has none of the old fields.
fn old_backend(backend: &Value) -> Option<String> {
    let old = ["serviceName", "servicePort"].map(|name| Some((name, backend.get(name)?)));
    let got: Vec<String> = old
        .iter()
        .flatten()
        .map(|(name, value)| format!("{name} {}", shortened(&value.to_string())))
        .collect();
    if got.is_empty() {
        return None;
    }
    let value = |name, otherwise: &str| {
        backend
            .get(name)
            .cloned()
            .unwrap_or_else(|| otherwise.into())
    };
    let mut today = json!({"serviceName": value("serviceName", "NAME"), "servicePort": value("servicePort", "PORT")});
    upgrade_backend(&mut today);
    let written = shortened(&today.get("service")?.to_string());
    Some(format!(
        "expected service, got {} of v1beta1; write service: {written}",
        got.join(" and ")
    ))
}

fn upgrade_spec(spec: &mut Map<String, Value>) {
    if let Some(mut backend) = spec.remove("backend") {
        upgrade_backend(&mut backend);
        spec.insert("defaultBackend".to_owned(), backend);
    }
    let rules = spec
        .get_mut("rules")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    let paths = rules
        .filter_map(|rule| rule.get_mut("http")?.get_mut("paths")?.as_array_mut())
        .flatten();
    for path in paths.filter_map(Value::as_object_mut) {
        path.entry("pathType")
            .or_insert_with(|| "ImplementationSpecific".into());
        path.get_mut("backend").map(upgrade_backend);
    }
}

fn upgrade_backend(backend: &mut Value) {
    let Some(fields) = backend.as_object_mut() else {
        return;
    };
    let (name, port) = (fields.remove("serviceName"), fields.remove("servicePort"));
    if name.is_some() || port.is_some() {
        let service = json!({"name": name.unwrap_or_default(), "port": port.map(upgrade_port)});
        fields.insert("service".to_owned(), service);
    }
}

fn upgrade_port(port: Value) -> Value {
    match port.as_str() {
        None => json!({ "number": port }),
        Some(text) => match text.parse::<u16>() {
            Ok(number) => json!({ "number": number }),
            Err(_) => json!({ "name": text }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(spec: Value) -> Value {
        json!({"apiVersion": "extensions/v1beta1", "kind": "Ingress", "metadata": {"name": "a"}, "spec": spec})
    }

    #[test]
    fn services_and_ports_move_to_their_new_places() {
        let path = json!({"path": "/", "backend": {"serviceName": "web", "servicePort": "http"}});
        let mut document = old(json!({
            "backend": {"serviceName": "fallback", "servicePort": 80},
            "rules": [{"host": "a.b", "http": {"paths": [path]}}],
        }));
        assert_eq!(
            upgrade(&mut document).as_deref(),
            Some("extensions/v1beta1")
        );
        let service = json!({"service": {"name": "web", "port": {"name": "http"}}});
        let path = json!({"path": "/", "pathType": "ImplementationSpecific", "backend": service});
        let spec = json!({
            "defaultBackend": {"service": {"name": "fallback", "port": {"number": 80}}},
            "rules": [{"host": "a.b", "http": {"paths": [path]}}],
        });
        assert_eq!(document["spec"], spec);
        assert_eq!(document["apiVersion"], V1);
    }

    #[test]
    fn a_number_in_quotes_is_a_port_number() {
        assert_eq!(upgrade_port("8080".into()), json!({"number": 8080}));
        assert_eq!(
            upgrade_port("http-8080".into()),
            json!({"name": "http-8080"})
        );
    }

    #[test]
    fn what_is_malformed_stays_so_for_the_reader_to_name() {
        for spec in [
            json!(null),
            json!([]),
            json!({"rules": 7}),
            json!({"rules": [{"http": {"paths": [7]}}]}),
        ] {
            let mut document = old(spec.clone());
            assert!(upgrade(&mut document).is_some());
            assert_eq!(document["spec"], spec);
        }
    }

    #[test]
    fn an_old_backend_in_a_new_version_is_named_with_what_to_write_instead() {
        let paths = json!([
            {"path": "/", "backend": {"service": {"name": "web", "port": {"number": 80}}}},
            {"path": "/b", "pathType": "Exact", "backend": {"serviceName": "web", "servicePort": "http"}},
            {"path": "/c", "pathType": "Exact", "backend": {"servicePort": "8080"}},
        ]);
        let spec = json!({"backend": {}, "rules": [{"host": "a.b"}, {"http": {"paths": paths}}]});
        let document = json!({"apiVersion": V1, "kind": "Ingress", "spec": spec});
        let expected = [
            "spec.backend: expected defaultBackend, got backend, which is v1beta1's name of it",
            "spec.rules[1].http.paths[0].pathType: required since v1; read as ImplementationSpecific",
            "spec.rules[1].http.paths[1].backend: expected service, got serviceName \"web\" and servicePort \"http\" of v1beta1; \
             write service: {\"name\":\"web\",\"port\":{\"name\":\"http\"}}",
            "spec.rules[1].http.paths[2].backend: expected service, got servicePort \"8080\" of v1beta1; \
             write service: {\"name\":\"NAME\",\"port\":{\"number\":8080}}",
        ];
        let said: Vec<String> = leftovers(&document)
            .iter()
            .map(|(field, reason)| format!("{field}: {reason}"))
            .collect();
        assert_eq!(said, expected);
        assert_eq!(leftovers(&old(spec)), [], "there they belong");
    }

    #[test]
    fn current_versions_and_other_kinds_are_left_alone() {
        for (version, kind) in [
            (V1, "Ingress"),
            ("extensions/v1beta1", "Deployment"),
            ("v1", "Service"),
        ] {
            let mut document = json!({"apiVersion": version, "kind": kind});
            assert_eq!(upgrade(&mut document), None);
            assert_eq!(document["apiVersion"], version);
        }
    }
}
