//! Canaries that cannot be served.

use sluice_translate::Severity;

use super::*;

/// Nothing of it is left out in silence.
#[test]
fn places_that_a_canary_cannot_have_are_reported() {
    let path =
        |path: &str, kind: &str| json!({"path": path, "pathType": kind, "backend": backend("new")});
    for (host, path, field) in [
        ("bad host", path("/", "Prefix"), "spec.rules[0].host"),
        (
            "a.test",
            path("x", "Prefix"),
            "spec.rules[0].http.paths[0].path",
        ),
        (
            "a.test",
            path("/", "Regex"),
            "spec.rules[0].http.paths[0].pathType",
        ),
    ] {
        let rules = json!({"rules": [{"host": host, "http": {"paths": [path]}}]});
        let main = ingress("main", &[], rule("a.test", "web"));
        let translation = translated(ALL, &[main, canary("canary", &[], rules)]);
        let reports = reports(&translation, "canary");
        let [report] = reports.as_slice() else {
            panic!("{field}: {reports:?}");
        };
        assert_eq!(
            (report.field.as_str(), &*report.consequence),
            (field, "canary not used")
        );
    }
}

/// Annotations that are too long are not read, and `canary` is. So it takes no path, closes none and has no host.
#[test]
fn a_canary_that_cannot_be_served_is_no_main_ingress() {
    let path = |n: usize| json!({"path": format!("/{n}"), "pathType": "Prefix", "backend": backend("new")});
    let root = json!({"path": "/", "pathType": "Prefix", "backend": backend("new")});
    let paths: Vec<Value> = (0..200).map(path).chain([root]).collect();
    let rules = ["a.test", "own.test"].map(|host| json!({"host": host, "http": {"paths": paths}}));
    for guard in [
        &[][..],
        &[("auth-tls-secret", "a/pods")],
        &[("auth-url", "http://auth.test")],
    ] {
        let long = "x".repeat(300 << 10);
        let more = [&[("custom-headers", long.as_str())], guard].concat();
        let mut canary = canary("canary", &more, json!({"rules": rules}));
        canary["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut main = ingress("main", &[], rule("a.test", "web"));
        main["metadata"]["creationTimestamp"] = json!("2026-01-02T00:00:00Z");
        let translation = translated(ALL, &[canary, main.clone()]);
        assert_eq!(translation.config(), translated(ALL, &[main]).config());
        assert!(reports(&translation, "main").is_empty());
        let [report] = reports(&translation, "canary")[..] else {
            panic!("{:?}", translation.reports());
        };
        assert_eq!(
            (report.severity, report.field.as_str()),
            (Severity::Error, "metadata.annotations")
        );
        assert!(!report.consequence.contains("503"), "{report:?}");
    }
}
