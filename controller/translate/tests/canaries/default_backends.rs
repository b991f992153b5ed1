//! Canaries of default backends.

use sluice_translate::Severity;

use super::*;

#[test]
fn a_default_backend_has_canaries_where_it_takes_requests() {
    let default = |service| json!({"defaultBackend": backend(service)});
    let host_alone = json!({"defaultBackend": backend("web"), "rules": [{"host": "a.test"}]});
    let both = |host: &str, service| {
        let mut spec = rule(host, service);
        spec["defaultBackend"] = backend("new");
        spec
    };
    for (host, main, of_canary) in [
        // Of all hosts.
        ("", default("web"), default("new")),
        ("", default("web"), rule("", "new")),
        ("", rule("", "web"), default("new")),
        ("", default("web"), both("b.test", "errors")),
        // Of one.
        ("a.test", host_alone, rule("a.test", "new")),
    ] {
        let main = ingress("main", &[], main);
        let canary = canary("canary", &[], of_canary);
        for ingresses in [[main.clone(), canary.clone()], [canary, main]] {
            let translation = translated(ALL, &ingresses);
            assert_eq!(
                canaries(translation.config(), host),
                ["new"],
                "{ingresses:?}"
            );
            let mut of_canary = reports(&translation, "canary").into_iter();
            assert!(
                of_canary.all(|it| it.field.starts_with("spec.rules[")),
                "{ingresses:?}"
            );
        }
    }
}

#[test]
fn a_default_backend_that_is_no_canary_is_reported() {
    let default = |service| json!({"defaultBackend": backend(service)});
    let canary = canary("canary", &[], default("new"));
    for (main, severity, reason) in [
        (
            ingress("main", &[], rule("a.test", "web")),
            Severity::Note,
            "no other Ingress has this host and path",
        ),
        (
            ingress("b/main", &[], default("web")),
            Severity::Warning,
            "path belongs to Ingress b/main, of another namespace",
        ),
        (
            ingress("main", &[], default("new")),
            Severity::Warning,
            "the backend is that of the path itself",
        ),
        (
            ingress("main", &[("auth-url", "ftp://a/")], default("web")),
            Severity::Error,
            "the path of Ingress a/main answers 503",
        ),
    ] {
        let translation = translated(ALL, &[main, canary.clone()]);
        let reports = reports(&translation, "canary");
        let [report] = reports.as_slice() else {
            panic!("{reason}: {reports:?}");
        };
        assert_eq!(
            (report.field.as_str(), report.severity),
            ("spec.defaultBackend", severity)
        );
        assert!(report.reason.starts_with(reason), "{report}");
        let routes = translation.config().routes();
        assert_eq!(routes.map(|route| route.canaries.len()).sum::<usize>(), 0);
    }
}
