//! Entries of Secrets: one that is there and cannot be read is never taken for one that is not there.

use rcgen::{CertificateParams, KeyPair};

use super::*;

const VERIFIED: [(&str, &str); 4] = [
    ("backend-protocol", "HTTPS"),
    ("proxy-ssl-secret", "owner/ca"),
    ("proxy-ssl-verify", "on"),
    ("proxy-ssl-name", "web.example"),
];

/// For each of the entries of a Secret for TLS to pods, and for clients.
#[test]
fn an_entry_that_is_no_text_is_not_left_out() {
    let Authority { certificate, list } = Authority::new();
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(["a".to_owned()]).unwrap();
    let own = own.self_signed(&key).unwrap();
    let good = json!({
        "tls.crt": own.pem(), "tls.key": key.serialize_pem(), "ca.crt": certificate, "ca.crl": list,
    });
    let is_open = |annotations: &[(&str, &str)], without: &[&str], bytes: &Value| {
        let mut text = good.clone();
        text.as_object_mut()
            .unwrap()
            .retain(|name, _| !without.contains(&name.as_str()));
        let objects = [
            secret(OWNER, "ca", &text, bytes),
            ingress(OWNER, "web", 2020, "/", annotations),
        ];
        !open_paths(&translated(&objects), HOST).is_empty()
    };
    let of_clients = [("auth-tls-secret", "owner/ca")];
    assert!(is_open(&VERIFIED, &[], &json!({})) && is_open(&of_clients, &[], &json!({})));
    assert!(is_open(
        &VERIFIED,
        &["tls.crt", "tls.key", "ca.crl"],
        &json!({})
    ));
    for entry in ["tls.crt", "tls.key", "ca.crt", "ca.crl"] {
        let bytes = json!({entry: NOT_TEXT});
        assert!(!is_open(&VERIFIED, &[entry], &bytes), "{entry}");
        // Nothing else of a certificate is there.
        let others = ["tls.crt", "tls.key", "ca.crl", entry];
        assert!(!is_open(&VERIFIED, &others, &bytes), "{entry} alone");
        let is_of_clients = entry.starts_with("ca.");
        assert_ne!(
            is_open(&of_clients, &[entry], &bytes),
            is_of_clients,
            "{entry}"
        );
    }
}

/// Of Envoy, by the Secret: `None`, where nginx serves.
#[test]
fn certificates_that_envoy_lets_in_are_reported() {
    let authority = Authority::new();
    let told = |data_plane, entries: Value, verify| {
        let annotations = [
            ("auth-tls-secret", "ca"),
            ("auth-tls-verify-client", verify),
        ];
        let objects = [
            secret(OWNER, "ca", &entries, &json!({})),
            ingress(OWNER, "web", 2020, "/", &annotations),
        ];
        let options = Options {
            data_plane,
            ..options()
        };
        let translation = translate(&resources(&objects), &options);
        assert!(!open_paths(&translation, HOST).is_empty());
        let reports = reports_of(&translation, "web").into_iter();
        let mut reports = reports.filter(|it| it.field == "annotation auth-tls-verify-client");
        reports.next().map(|report| report.severity.word())
    };
    let plain = || json!({"ca.crt": authority.certificate});
    let revoking = || json!({"ca.crt": authority.certificate, "ca.crl": authority.list});
    for data_plane in [None, Some(DataPlane::Envoy)] {
        assert_eq!(told(data_plane, plain(), "optional_no_ca"), Some("note"));
        assert_eq!(
            told(data_plane, revoking(), "optional_no_ca"),
            Some("warning")
        );
        assert_eq!(told(data_plane, revoking(), "optional"), None);
    }
    let nginx = Some(DataPlane::Nginx);
    assert_eq!(told(nginx, revoking(), "optional_no_ca"), None);
}
