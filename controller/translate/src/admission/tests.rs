use std::sync::Arc;

use serde_json::{Value, json};
use sluice_translate_engine::Object;

use super::*;

fn ingress(name: &str, created: Option<&str>, annotations: Value, rules: Value) -> Ingress {
    let object = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {
            "name": name, "namespace": "default", "creationTimestamp": created, "annotations": annotations,
            "uid": "0f0cb9a6-7f5e-4a5a-9f0e-3f2d1c0b9a87",
        },
        "spec": {"ingressClassName": "nginx", "rules": rules},
    });
    match Object::from_value(object).unwrap() {
        Object::Ingress(ingress) => Arc::unwrap_or_clone(ingress),
        other => panic!("{other:?}"),
    }
}

fn rule(host: &str, path: &str, path_type: &str) -> Value {
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    json!([{"host": host, "http": {"paths": [{"path": path, "pathType": path_type, "backend": backend}]}}])
}

fn plain(name: &str, host: &str, path: &str) -> Ingress {
    ingress(name, None, json!({}), rule(host, path, "Prefix"))
}

fn canary(name: &str, value: &str) -> Ingress {
    ingress(
        name,
        None,
        json!({"nginx.ingress.kubernetes.io/canary": value}),
        rule("a.b", "/", "Prefix"),
    )
}

/// A cluster with the class and an Ingress `default/old` on `a.b/`.
fn world() -> Resources {
    let mut resources = Resources::default();
    let class = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "nginx"},
        "spec": {"controller": "k8s.io/ingress-nginx"},
    });
    resources.apply(Object::from_value(class).unwrap());
    let old = ingress(
        "old",
        Some("2026-01-01T00:00:00Z"),
        json!({}),
        rule("a.b", "/", "Prefix"),
    );
    resources.apply(Object::Ingress(Arc::new(old)));
    resources
}

fn judged(ingress: &Ingress) -> Admission {
    admit(ingress, &world(), &Options::default(), &Rules::default())
}

/// With these settings in the controller's ConfigMap.
fn judged_with(settings: Value, ingress: &Ingress) -> Admission {
    let mut world = world();
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"}, "data": settings,
    });
    world.apply(Object::from_value(object).unwrap());
    let configmap = Some(ObjectKey::new("default", "settings"));
    admit(
        ingress,
        &world,
        &Options {
            configmap,
            ..Options::default()
        },
        &Rules::default(),
    )
}

fn error(ingress: &Ingress) -> String {
    judged(ingress).errors.join("; ")
}

#[test]
fn an_ingress_of_its_own_is_let_in_and_warned_of_its_missing_service() {
    let admission = judged(&plain("new", "c.d", "/"));
    assert_eq!(admission.errors, [""; 0]);
    assert!(
        admission.warnings[0].contains("default/web"),
        "{:?}",
        admission.warnings
    );
}

#[test]
fn a_path_that_another_ingress_has_is_refused() {
    let text = "host \"a.b\" and path \"/\" is already defined in ingress default/old";
    assert_eq!(error(&plain("new", "a.b", "/")), text);
    assert_eq!(error(&plain("new", "A.B", "")), text);
    assert!(judged(&plain("new", "a.b", "/other")).is_allowed());
}

#[test]
fn every_path_is_compared_and_not_only_the_first() {
    let mut rules = rule("c.d", "/", "Prefix");
    rules
        .as_array_mut()
        .unwrap()
        .push(rule("a.b", "/", "Exact")[0].clone());
    assert!(!judged(&ingress("new", None, json!({}), rules)).is_allowed());
}

#[test]
fn the_annotation_of_a_canary_on_either_side_allows_the_same_path() {
    for value in ["true", "false"] {
        let overlaps = |ingress: &Ingress, world: &Resources| {
            !overlap::find(ingress, world, &Options::default()).is_empty()
        };
        assert!(!overlaps(&canary("new", value), &world()));
        let mut other_way_round = world();
        other_way_round.delete(Kind::Ingress, &ObjectKey::new("default", "old"));
        other_way_round.apply(Object::Ingress(Arc::new(canary("first", value))));
        assert!(!overlaps(&plain("new", "a.b", "/"), &other_way_round));
    }
}

#[test]
fn an_update_of_the_owner_is_let_in_though_a_younger_one_claims_the_same() {
    let mut world = world();
    let young = ingress(
        "young",
        Some("2026-02-01T00:00:00Z"),
        json!({}),
        rule("a.b", "/", "Prefix"),
    );
    world.apply(Object::Ingress(Arc::new(young.clone())));
    let old = ingress(
        "old",
        Some("2026-01-01T00:00:00Z"),
        json!({"x": "y"}),
        rule("a.b", "/", "Prefix"),
    );
    let judged = |ingress: &Ingress| admit(ingress, &world, &Options::default(), &Rules::default());
    assert!(judged(&old).is_allowed());
    assert!(!judged(&young).is_allowed());
}

#[test]
fn the_paths_of_other_classes_are_free() {
    let mut world = world();
    let mut foreign = plain("foreign", "c.d", "/");
    foreign.spec.as_mut().unwrap().ingress_class_name = Some("traefik".to_owned());
    world.apply(Object::Ingress(Arc::new(foreign.clone())));
    let judged = |ingress: &Ingress| admit(ingress, &world, &Options::default(), &Rules::default());
    assert!(judged(&plain("new", "c.d", "/")).is_allowed());
    foreign.spec.as_mut().unwrap().rules.as_mut().unwrap()[0].host = Some("not a host".to_owned());
    assert!(
        judged(&foreign).is_allowed(),
        "nor do we judge what is not ours"
    );
}

#[test]
fn deep_inspection_comes_before_the_class() {
    let hostile = [
        ("a.b", "/x;alias /etc/;"),
        ("a.b", "/root x;"),
        ("a.b", "/etc/passwd"),
        ("a.b", "/var/run/secrets/x"),
        ("a.b_by_lua", "/"),
    ];
    for (host, path) in hostile {
        let mut ingress = plain("new", host, path);
        ingress.spec.as_mut().unwrap().ingress_class_name = Some("other".to_owned());
        assert!(
            error(&ingress).starts_with("invalid ingress: "),
            "{host}{path}"
        );
        let lenient = Rules {
            deep_inspect: false,
        };
        assert!(admit(&ingress, &world(), &Options::default(), &lenient).is_allowed());
    }
    for harmless in ["/aliases", "/roots", "/etc/hosts", "/run"] {
        assert_eq!(
            rules::inspect(&plain("new", "a.b", harmless)),
            None,
            "{harmless}"
        );
    }
}

#[test]
fn only_plain_paths_are_exact_or_prefix() {
    for kind in ["Exact", "Prefix"] {
        let ingress = ingress("new", None, json!({}), rule("c.d", "/foo(.*)", kind));
        let text = format!("path \"/foo(.*)\" cannot be used with pathType {kind}");
        assert!(judged(&ingress).errors.contains(&text));
        let admission = judged_with(json!({"strict-validate-path-type": "false"}), &ingress);
        assert!(admission.warnings.contains(&text) && !admission.errors.contains(&text));
    }
    let specific = ingress(
        "new",
        None,
        json!({}),
        rule("c.d", "/foo(.*)", "ImplementationSpecific"),
    );
    assert!(!error(&specific).contains("cannot be used with pathType"));
}

#[test]
fn snippets_are_refused_unless_they_are_allowed_and_then_warned_of() {
    let annotations = json!({"nginx.ingress.kubernetes.io/configuration-snippet": "deny all;"});
    let ingress = ingress("new", None, annotations, rule("c.d", "/", "Prefix"));
    assert!(error(&ingress).contains("annotation configuration-snippet: snippets"));
    let admission = judged_with(json!({"allow-snippet-annotations": "true"}), &ingress);
    assert!(
        admission
            .warnings
            .iter()
            .any(|warning| warning.contains("configuration-snippet: snippets"))
    );
}

#[test]
fn words_of_the_blocklist_are_refused_in_our_annotations_only() {
    for (key, refused) in [
        ("nginx.ingress.kubernetes.io/app-root", true),
        ("example.com/note", false),
    ] {
        let ingress = ingress(
            "new",
            None,
            json!({key: "/evil"}),
            rule("c.d", "/", "Prefix"),
        );
        let errors =
            judged_with(json!({"annotation-value-word-blocklist": "evil"}), &ingress).errors;
        assert_eq!(
            errors.iter().any(|error| error.contains("evil")),
            refused,
            "{errors:?}"
        );
    }
}

#[test]
fn a_uid_is_a_uuid() {
    let mut ingress = plain("new", "c.d", "/");
    ingress.uid = Some("x\";\n".into());
    assert!(error(&ingress).starts_with("metadata.uid: expected a UUID"));
}

#[test]
fn what_translation_reports_as_an_error_is_refused() {
    let text = error(&plain("new", "not_a_host", "/"));
    assert!(
        text.contains("spec.rules[0].host: expected a DNS name"),
        "{text}"
    );
}

#[test]
fn a_default_backend_is_refused_where_catch_alls_are_off() {
    let mut ingress = plain("new", "c.d", "/");
    let backend = json!({"service": {"name": "web", "port": {"number": 80}}});
    ingress.spec.as_mut().unwrap().default_backend = Some(serde_json::from_value(backend).unwrap());
    let options = Options {
        disable_catch_all: true,
        ..Options::default()
    };
    let admission = admit(&ingress, &world(), &options, &Rules::default());
    assert!(
        admission.errors[0].contains("--disable-catch-all"),
        "{:?}",
        admission.errors
    );
}

#[test]
fn what_is_being_deleted_is_let_go() {
    let mut ingress = plain("new", "not a host", "/etc/passwd");
    ingress.is_being_deleted = true;
    assert!(judged(&ingress).is_allowed());
}

#[test]
fn deprecated_annotations_are_warned_of() {
    let annotations = json!({"nginx.ingress.kubernetes.io/influxdb-host": "x"});
    let ingress = ingress("new", None, annotations, rule("c.d", "/", "Prefix"));
    assert!(
        judged(&ingress)
            .warnings
            .contains(&"annotation influxdb-host is deprecated".to_owned())
    );
}

#[test]
fn only_neighbours_are_looked_at() {
    let mut world = world();
    for n in 0..1000 {
        let host = format!("h{n}.test");
        world.apply(Object::Ingress(Arc::new(plain(
            &format!("i{n}"),
            &host,
            "/",
        ))));
    }
    let admission = admit(
        &plain("new", "a.b", "/x"),
        &world,
        &Options::default(),
        &Rules::default(),
    );
    assert_eq!(
        admission.looked_at, 2,
        "itself, and who was first on its host"
    );
}

#[test]
fn one_that_is_not_stored_yet_is_younger_than_what_was_stored_in_the_same_second() {
    // By name alone it would be read before `old`.
    let new = ingress(
        "young",
        Some("2026-01-01T00:00:00Z"),
        json!({}),
        rule("a.b", "/", "Prefix"),
    );
    assert!(error(&new).contains("already defined in ingress default/old"));
}

#[test]
fn a_bad_value_is_refused_where_ingress_nginx_refuses_it_and_warned_of_elsewhere() {
    for (name, value, refused) in [
        ("connection-proxy-header", "a;}", true),
        ("limit-rps", "many", true),
        ("proxy-read-timeout", "soon", false),
        ("affinity", "cookies", false),
    ] {
        let annotations = json!({(format!("nginx.ingress.kubernetes.io/{name}")): value});
        let admission = judged(&ingress(
            "new",
            None,
            annotations,
            rule("c.d", "/", "Prefix"),
        ));
        let said = if refused {
            &admission.errors
        } else {
            &admission.warnings
        };
        assert!(said.iter().any(|text| text.contains(name)), "{admission:?}");
        assert_eq!(admission.is_allowed(), !refused, "{admission:?}");
    }
}

#[test]
fn an_annotation_of_a_higher_risk_than_allowed_is_refused_even_if_it_would_not_be_served() {
    for name in ["modsecurity-transaction-id", "server-alias"] {
        let annotations = json!({(format!("nginx.ingress.kubernetes.io/{name}")): "bla123"});
        let ingress = ingress("new", None, annotations, rule("c.d", "/", "Prefix"));
        assert!(judged(&ingress).is_allowed());
        assert!(
            !judged_with(json!({"annotations-risk-level": "Low"}), &ingress).is_allowed(),
            "{name}"
        );
    }
}
