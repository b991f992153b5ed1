//! `proxy-ssl-secret`: what pods are offered with it and without it, its list of revoked certificates, and Ingresses beside it.

mod authority;

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Map, Value, json};
use sluice_ir::{TlsVersions, UpstreamTls};
use sluice_translate::{Object, ObjectKey, Options, Report, Resources, Severity, translate};

use authority::Authority;

const V1_2: TlsVersions = TlsVersions {
    v1_2: true,
    v1_3: false,
};
const V1_3: TlsVersions = TlsVersions {
    v1_2: false,
    v1_3: true,
};

/// Secrets `pair` (a certificate), `ca` (authorities), `both`, and `revoking` (both, and a list of revoked certificates).
fn secrets() -> Vec<Value> {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["web.test".to_owned()]).unwrap();
    let pair = [
        ("tls.crt", params.self_signed(&key).unwrap().pem()),
        ("tls.key", key.serialize_pem()),
    ];
    let authority = Authority::new();
    let (ca, crl) = (
        ("ca.crt", authority.certificate),
        ("ca.crl", authority.list),
    );
    let [certificate, key] = pair;
    [
        ("pair", vec![certificate.clone(), key.clone()]),
        ("ca", vec![ca.clone()]),
        ("both", vec![certificate.clone(), key.clone(), ca.clone()]),
        ("revoking", vec![certificate, key, ca, crl]),
    ]
    .map(|(name, entries)| {
        let entries = entries.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"},
            "stringData": Value::Object(entries.collect::<Map<String, Value>>()),
        })
    })
    .into()
}

/// An Ingress of `web.test` whose pods speak TLS. Younger ones have names that come later.
fn ingress((namespace, name): (&str, &str), annotations: &[(&str, &str)]) -> Value {
    let annotations = [("backend-protocol", "HTTPS")].iter().chain(annotations);
    let annotations: Map<String, Value> = annotations
        .map(|(name, value)| {
            (
                format!("nginx.ingress.kubernetes.io/{name}"),
                (*value).into(),
            )
        })
        .collect();
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"ingressClassName": "nginx", "rules": [{"host": "web.test", "http": {"paths": [{
            "path": format!("/{name}"), "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 443}}},
        }]}}]},
    })
}

/// TLS of all backends, and the reports.
fn served(objects: &[Value]) -> (Vec<UpstreamTls>, Vec<Report>) {
    let mut resources = Resources::default();
    for object in secrets().iter().chain(objects) {
        resources.apply(Object::from_value(object.clone()).unwrap());
    }
    let options = Options {
        class_is_implied: true,
        configmap: Some(ObjectKey::new("default", "sluice")),
        ..Options::default()
    };
    let translation = translate(&resources, &options);
    let backends = translation.config().backends.values();
    let tls = backends.filter_map(|backend| backend.transport.tls.clone());
    (
        tls.collect(),
        translation.reports().into_iter().cloned().collect(),
    )
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sluice", "namespace": "default"}, "data": data})
}

#[test]
fn pods_are_offered_what_is_written_and_without_authorities_both_versions() {
    let cases: &[(&[(&str, &str)], TlsVersions)] = &[
        (&[], TlsVersions::default()),
        (
            &[("proxy-ssl-protocols", "TLSv1.2")],
            TlsVersions::default(),
        ),
        (
            &[("proxy-ssl-secret", "default/pair")],
            TlsVersions::default(),
        ),
        (&[("proxy-ssl-secret", "default/ca")], V1_2),
        (&[("proxy-ssl-secret", "default/both")], V1_2),
        (
            &[
                ("proxy-ssl-secret", "default/both"),
                ("proxy-ssl-protocols", "TLSv1.2 TLSv1.3"),
            ],
            TlsVersions::default(),
        ),
        (
            &[
                ("proxy-ssl-secret", "default/both"),
                ("proxy-ssl-protocols", "TLSv1.3"),
            ],
            V1_3,
        ),
        (
            &[
                ("proxy-ssl-secret", "default/pair"),
                ("proxy-ssl-protocols", "TLSv1.2"),
            ],
            V1_2,
        ),
        (
            &[
                ("proxy-ssl-secret", "default/pair"),
                ("proxy-ssl-protocols", "TLSv9"),
            ],
            V1_3,
        ),
    ];
    for (annotations, expected) in cases {
        for protocol in ["HTTPS", "GRPCS"] {
            let annotations = [annotations, &[("backend-protocol", protocol)][..]].concat();
            let (tls, _) = served(&[ingress(("default", "web"), &annotations)]);
            let versions: Vec<TlsVersions> = tls.iter().map(|tls| tls.versions).collect();
            assert_eq!(versions, [*expected], "{annotations:?}");
        }
    }
    let mirror = [
        ("backend-protocol", "HTTP"),
        ("mirror-target", "https://mirror.test"),
    ];
    let (tls, _) = served(&[ingress(("default", "web"), &mirror)]);
    assert_eq!(tls[0].versions, TlsVersions::default());
}

#[test]
fn pods_are_held_against_a_list_that_ingress_nginx_does_not_read() {
    let secret = |name| {
        [
            ("proxy-ssl-secret", name),
            ("proxy-ssl-verify", "on"),
            ("proxy-ssl-name", "web.test"),
        ]
    };
    let noted = |annotations: &[(&str, &str)]| {
        let (_, reports) = served(&[ingress(("default", "web"), annotations)]);
        reports
            .iter()
            .any(|report| report.reason.contains("ca.crl"))
    };
    assert!(noted(&secret("default/revoking")));
    assert!(!noted(&secret("default/both")));
    assert!(!noted(&secret("default/revoking")[..1]));
}

/// Settings of an Ingress, after its namespace and name.
type Second<'a> = ((&'a str, &'a str), &'a [(&'a str, &'a str)]);

const VERIFIED: [(&str, &str); 3] = [
    ("proxy-ssl-secret", "default/ca"),
    ("proxy-ssl-verify", "on"),
    ("proxy-ssl-name", "web.test"),
];
const PRESENTED: [(&str, &str); 1] = [("proxy-ssl-secret", "default/both")];
const SIBLING: Second<'_> = (("default", "b"), &[]);

/// The consequence that an Ingress beside another one hears of, with this ConfigMap.
fn told(first: &[(&str, &str)], second: Second<'_>, map: &Value) -> Option<String> {
    let objects = [
        ingress(("default", "a"), first),
        ingress(second.0, second.1),
        config_map(map),
    ];
    let (_, reports) = served(&objects);
    let mut reports = reports
        .into_iter()
        .filter(|report| report.reason.contains("proxy-ssl-location-only"));
    let told = reports.next().map(|report| {
        let object = &*report.object.key.name;
        assert_eq!((report.severity, object), (Severity::Warning, second.0.1));
        report.consequence.to_string()
    });
    assert!(reports.next().is_none());
    told
}

#[test]
fn ingresses_beside_one_with_a_secret_hear_that_it_is_not_theirs() {
    let none = json!({});
    let heard = |first: &[(&str, &str)]| told(first, SIBLING, &none);
    assert_eq!(heard(&VERIFIED).as_deref(), Some("pods are not verified"));
    assert_eq!(
        heard(&PRESENTED).as_deref(),
        Some("pods see no certificate")
    );
    let in_grpc = (("default", "b"), &[("backend-protocol", "GRPCS")][..]);
    assert!(told(&VERIFIED, in_grpc, &none).is_some());
    // ingress-nginx applies it with authorities alone, and then what it says.
    for first in [
        [("proxy-ssl-secret", "default/pair")],
        [("proxy-ssl-secret", "default/ca")],
    ] {
        assert_eq!(heard(&first), None, "{first:?}");
    }
}

#[test]
fn ingresses_that_a_secret_beside_them_does_not_concern_hear_nothing() {
    for second in [
        (("other", "b"), &[][..]),
        (("default", "b"), &[("backend-protocol", "HTTP")]),
        (("default", "b"), &PRESENTED),
        (
            ("default", "b"),
            &[("permanent-redirect", "https://a.test")],
        ),
    ] {
        assert_eq!(told(&VERIFIED, second, &json!({})), None, "{second:?}");
    }
    for (is_own, is_told) in [("true", false), ("false", true)] {
        let map = json!({ "proxy-ssl-location-only": is_own });
        let told = told(&VERIFIED, SIBLING, &map);
        assert_eq!(told.is_some(), is_told, "{is_own}");
    }
}
