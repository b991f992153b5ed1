//! Paths that look like patterns, and services of authentication on the host that asks them.

use super::*;

#[test]
fn a_path_that_looks_like_a_pattern_and_is_a_text_has_a_note() {
    let note = |annotations: &str, path: &str, kind: &str| {
        let rule = RULE.replace("path: /,", &format!("path: '{path}',"));
        let rule = rule.replace("pathType: Prefix", &format!("pathType: {kind}"));
        let finding = only(&ingress("shop", annotations, &rule));
        let remarks = finding.remarks.into_iter();
        let of_path = remarks.filter(|it| it.field == "spec.rules[0].http.paths[0].path");
        of_path.map(|it| (it.severity, it.text)).next()
    };
    for kind in ["Prefix", "Exact", "ImplementationSpecific"] {
        for path in ["/api/(.*)", "/a+", "/*", "/a$"] {
            let (severity, text) = note("", path, kind).unwrap();
            assert_eq!(severity, Severity::Note);
            assert!(
                text.contains("compared as a text") && text.contains("use-regex"),
                "{text}"
            );
        }
        assert_eq!(note("", "/a.b-c_d", kind), None);
    }
    let regex = "nginx.ingress.kubernetes.io/use-regex: 'true'";
    assert_eq!(note(regex, "/api/(.*)", "ImplementationSpecific"), None);
    let off = "nginx.ingress.kubernetes.io/use-regex: 'false'";
    assert!(note(off, "/api/(.*)", "Prefix").is_some());
}

#[test]
fn a_service_of_authentication_on_the_own_host_has_a_note() {
    let note = |url: &str| {
        let annotation = format!("nginx.ingress.kubernetes.io/auth-url: '{url}'");
        let finding = only(&ingress("shop", &annotation, RULE));
        let mut remarks = finding.remarks.into_iter();
        remarks.find(|it| it.text.contains("--publish-service"))
    };
    for own in [
        "https://$host/oauth2/auth",
        "http://${host}?a=b",
        "https://$host",
    ] {
        assert_eq!(note(own).unwrap().severity, Severity::Note, "{own}");
    }
    for other in ["http://auth.demo.svc/$host", "https://a.test/?rd=$host"] {
        assert_eq!(note(other), None, "{other}");
    }
}
