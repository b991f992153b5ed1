//! Ingresses of one host that ask clients for certificates: the same guard is one guard, whatever is said beside it.

use super::*;

/// Settings that the second Ingress of a host says beside the Secret, its path being open, and fields that are told of.
fn second(first: &[(&str, &str)], second: &[(&str, &str)]) -> (bool, Vec<(String, &'static str)>) {
    let annotations = |more: &[(&str, &str)]| -> Vec<(String, String)> {
        let all = [("auth-tls-secret", "owner/ca")];
        let all = all
            .iter()
            .filter(|(name, _)| more.iter().all(|(other, _)| other != name));
        let all = all.chain(more);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let (first, second) = (annotations(first), annotations(second));
    fn borrowed(all: &[(String, String)]) -> Vec<(&str, &str)> {
        all.iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }
    let authority = Authority::new();
    let mut objects = authorities(&authority);
    let text = json!({"ca.crt": Authority::new().certificate});
    objects.push(secret(OWNER, "other", &text, &json!({})));
    objects.push(ingress(OWNER, "first", 2019, "/", &borrowed(&first)));
    objects.push(ingress(OWNER, "second", 2020, "/api", &borrowed(&second)));
    let translation = translated(&objects);
    let name = ServerName::parse(HOST).unwrap();
    let clients = translation.config().servers[&name]
        .client_certificates
        .as_ref();
    assert!(clients.is_some());
    let open = open_paths(&translation, HOST);
    assert!(open.contains("/"), "the first is served");
    let reports = reports_of(&translation, "second").into_iter();
    let reports = reports.map(|report| (report.field.clone(), report.severity.word()));
    (open.contains("/api"), reports.collect())
}

#[test]
fn the_first_ingress_decides_about_the_page_and_the_headers() {
    const PASS: (&str, &str) = ("auth-tls-pass-certificate-to-upstream", "true");
    const PAGE: (&str, &str) = ("auth-tls-error-page", "/refused");
    let note = |(name, _): (&str, &str)| (format!("annotation {name}"), "note");
    assert_eq!(second(&[], &[]), (true, vec![]));
    assert_eq!(second(&[PASS, PAGE], &[PASS, PAGE]), (true, vec![]));
    for (first, other) in [(&[][..], &[PASS][..]), (&[PASS], &[])] {
        assert_eq!(second(first, other), (true, vec![note(PASS)]));
    }
    for (first, other) in [(&[][..], &[PAGE][..]), (&[PAGE], &[])] {
        assert_eq!(second(first, other), (true, vec![note(PAGE)]));
    }
    let (is_open, told) = second(&[], &[PASS, PAGE]);
    assert!(is_open && told.len() == 2, "{told:?}");
}

#[test]
fn another_guard_is_none_that_the_host_has() {
    for other in [
        ("auth-tls-secret", "owner/other"),
        ("auth-tls-verify-client", "optional"),
        ("auth-tls-verify-depth", "2"),
        ("auth-tls-match-cn", "CN=me"),
    ] {
        let told = vec![("annotation auth-tls-secret".to_owned(), "error")];
        assert_eq!(second(&[], &[other]), (false, told.clone()), "{other:?}");
        assert_eq!(second(&[other], &[]), (false, told), "{other:?}");
    }
}
