//! Secrets: certificates that are good, and such that are almost.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::select;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::{Map, Value, json};
use sluice_tests::certificate::{Pair, unusual};

/// Names of Secrets in Ingresses.
pub(crate) const NAMES: &[&str] = &[
    "cert",
    "ca",
    "auth",
    "missing",
    "tenant/cert",
    "other/ca",
    "tenant/auth",
];

struct Known {
    good: Pair,
    other: Pair,
    /// Keys that only some libraries read.
    unusual: Vec<(&'static str, Pair)>,
    authority: String,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap().pem();
    let pair = |name| Pair::of(&[name]).unwrap();
    Known {
        good: pair("shop.test"),
        other: pair("*.shop.test"),
        unusual: unusual().unwrap(),
        authority,
    }
});

const USERS: &[&str] = &[
    "user:$apr1$TGKBzE7P$SlHCVtKEPZQoxtCOYBYjp1",
    "user:plain",
    "user:$2y$05$",
    "a:b:c",
    ":",
    "user:{SHA}x",
    "",
    "\u{0}",
    "user",
];

pub(crate) fn secrets(namespace: &'static str) -> impl Strategy<Value = Vec<Value>> {
    (certificate(), authorities(), select(USERS)).prop_map(move |(certificate, authorities, users)| {
        let auth = [("auth".to_owned(), json!(users))].into_iter().collect();
        let all = [("cert", certificate), ("ca", authorities), ("auth", auth)];
        let all = all.map(|(name, data): (&str, Map<String, Value>)| {
            let metadata = json!({ "namespace": namespace, "name": name });
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data })
        });
        all.into()
    })
}

fn certificate() -> impl Strategy<Value = Map<String, Value>> {
    let Known {
        good,
        other,
        unusual,
        ..
    } = &*KNOWN;
    let unusual: Vec<&Pair> = unusual.iter().map(|(_, pair)| pair).collect();
    let unusual = select(unusual).prop_flat_map(|pair| pair_of(pair, good));
    prop_oneof![4 => pair_of(good, other), 1 => unusual]
}

fn pair_of(good: &'static Pair, other: &'static Pair) -> impl Strategy<Value = Map<String, Value>> {
    let half = |text: &str| text.get(..text.len() / 2).unwrap_or_default().to_owned();
    let texts = |text: &str, other: &str| {
        vec![
            text.to_owned(),
            text.to_owned(),
            text.to_owned(),
            other.to_owned(),
            half(text),
            String::new(),
            "garbage".to_owned(),
            format!("{text}{other}"),
            format!("{text}garbage"),
            text.replace('\n', "\r\n"),
            format!("# comment\n{text}\n\n"),
        ]
    };
    (
        select(texts(&good.pem, &other.pem)),
        select(texts(&good.key, &other.key)),
    )
        .prop_map(|(chain, key)| {
            [
                ("tls.crt".to_owned(), json!(chain)),
                ("tls.key".to_owned(), json!(key)),
            ]
            .into_iter()
            .collect()
        })
}

/// Authorities; with a certificate of one's own, as `proxy-ssl-secret` has it.
fn authorities() -> impl Strategy<Value = Map<String, Value>> {
    let Known {
        good, authority, ..
    } = &*KNOWN;
    let texts = vec![
        authority.clone(),
        authority.clone(),
        good.pem.clone(),
        format!("{authority}{authority}"),
        format!("{authority}{}", good.key),
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
        String::new(),
    ];
    let revoked = vec![
        None,
        None,
        Some("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n".to_owned()),
        Some(String::new()),
    ];
    (select(texts), select(revoked), any::<bool>()).prop_map(|(authorities, revoked, own)| {
        let mut data: Map<String, Value> = [("ca.crt".to_owned(), json!(authorities))]
            .into_iter()
            .collect();
        data.extend(revoked.map(|list| ("ca.crl".to_owned(), json!(list))));
        if own {
            data.insert("tls.crt".to_owned(), json!(KNOWN.good.pem));
            data.insert("tls.key".to_owned(), json!(KNOWN.good.key));
        }
        data
    })
}
