//! Guards of one namespace, and paths of another on the same host.

use serde_json::json;
use sluice_translate::{ObjectKey, Options, Report, Resources, translate};

use super::{HOST, apply, ingress, path, rules, service};

/// Reports about a `server-snippet` of one namespace on a host, by the namespace of their object.
fn told(
    snippet: &str,
    of_snippet: &str,
    others: &[&str],
    host: &str,
) -> Vec<(String, &'static str)> {
    let mut resources = Resources::default();
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sluice", "namespace": "sluice"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    });
    apply(&mut resources, settings);
    let guarded = ingress(
        of_snippet,
        "2020",
        &json!({"server-snippet": snippet}),
        rules(&[HOST], &[path("/", "Prefix")]),
    );
    apply(&mut resources, guarded);
    apply(&mut resources, service(of_snippet));
    for (n, namespace) in others.iter().enumerate() {
        let paths = [path(&format!("/{n}"), "Prefix")];
        let mut other = ingress(namespace, "2021", &json!({}), rules(&[host], &paths));
        other["metadata"]["name"] = json!(format!("other-{n}"));
        apply(&mut resources, other);
        apply(&mut resources, service(namespace));
    }
    let options = Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("sluice", "sluice")),
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    let reports = translation.reports();
    let reports = reports.iter().map(|report: &&Report| {
        (
            report.object.key.namespace.to_string(),
            report.code.as_str(),
        )
    });
    reports.collect()
}

/// In ingress-nginx a snippet is for all paths of its host, so both sides may count on a guard. Nobody else is told anything.
#[test]
fn paths_that_are_served_without_a_foreign_guard_are_reported_to_both_sides() {
    let pair = |namespace: &str, code| (namespace.to_owned(), code);
    let mine = || pair("a", "PartiallySupported");
    for guard in [
        "deny all;",
        "allow 10.0.0.0/8; deny all;",
        "return 403;",
        "if ($http_x_key != k) { return 403; }",
        "rewrite ^/old /new permanent;",
        "location /admin { deny all; }",
    ] {
        let theirs = || pair("b", "Insecure");
        assert_eq!(
            told(guard, "a", &["b"], HOST),
            [mine(), theirs()],
            "{guard}"
        );
        let of_two = [mine(), theirs(), pair("c", "Insecure")];
        assert_eq!(told(guard, "a", &["b", "c"], HOST), of_two, "{guard}");
        assert_eq!(told(guard, "a", &["a"], HOST), [], "{guard}");
        assert_eq!(told(guard, "a", &["b"], "b.example"), [], "{guard}");
    }
    let header = "more_set_headers 'X-Frame-Options: DENY';";
    assert_eq!(told(header, "a", &["b"], HOST), [mine()]);
    assert_eq!(told("", "a", &["b"], HOST), []);
}
