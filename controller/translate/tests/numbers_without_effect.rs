//! A number that has no effect, in ingress-nginx neither, is not passed over: whoever wrote it is told.

use serde_json::json;
use sluice_translate::{Object, Options, Resources, translate};

/// Expectations in the reports about an annotation, which is there beside others.
fn reasons(name: &str, value: &str, others: &[(&str, &str)]) -> Vec<String> {
    let annotations = [&[(name, value)], others].concat().into_iter();
    let annotations: serde_json::Map<_, _> = annotations
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), json!(value)))
        .collect();
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "web", "namespace": "a", "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": [{"host": "a.test", "http": {"paths": [{
            "path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}},
        }]}}]},
    });
    let mut resources = Resources::default();
    resources.apply(Object::from_value(ingress).unwrap());
    let options = Options {
        class_is_implied: true,
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    let field = format!("annotation {name}");
    let reports = translation.reports().into_iter();
    let about = reports.filter(|it| it.field == field && it.reason.starts_with("expected"));
    about.map(|report| report.reason.clone()).collect()
}

#[test]
fn a_negative_count_is_reported_and_zero_is_not() {
    for name in [
        "limit-rate",
        "limit-rate-after",
        "limit-rps",
        "limit-rpm",
        "limit-connections",
    ] {
        assert_eq!(
            reasons(name, "-3", &[]),
            [r#"expected 0 or more, got "-3""#],
            "{name}"
        );
        for good in ["0", "-0", "3"] {
            assert_eq!(reasons(name, good, &[]), [""; 0], "{name} {good}");
        }
    }
}

#[test]
fn a_status_that_is_no_redirects_is_reported_where_it_would_be_used() {
    for (kind, last) in [("permanent", 308), ("temporal", 307)] {
        let (redirect, code) = (format!("{kind}-redirect"), format!("{kind}-redirect-code"));
        let to = [(redirect.as_str(), "https://b.test/")];
        for status in [-5, 0, 200, 299, 300, 302, 307, 308, 309, 65_836] {
            let expected = format!("expected a status from 300 to {last}, got {status}");
            let expected: &[String] = match status {
                300..=308 if status <= last => &[],
                _ => &[expected],
            };
            assert_eq!(reasons(&code, &status.to_string(), &to), expected);
        }
    }
    let both = [
        ("permanent-redirect", "https://b.test/"),
        ("temporal-redirect", "https://c.test/"),
    ];
    assert_eq!(reasons("permanent-redirect-code", "333", &both), [""; 0]);
}
