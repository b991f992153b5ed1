//! Many Ingresses on one host: each hears of the others in one report, however many they are. Counted, not timed.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_translate::{ObjectKey, Options, Resources, Translation, translate};

use super::{HOST, apply, ingress, path, rules};

/// Three times as many have as many digits, also without those that are named.
const FEW: usize = 14;

/// Settings of which one Ingress hears that another has them, too, or that it is served without them.
fn settings() -> Vec<Value> {
    vec![
        json!({}),
        json!({"server-snippet": "deny all;"}),
        json!({"server-snippet": "location /admin { deny all; }"}),
        json!({"server-snippet": "rewrite ^/old /new last;"}),
        json!({"server-snippet": "more_set_headers 'X-Frame-Options: DENY';"}),
        json!({"configuration-snippet": "rewrite ^/old$ /new permanent;"}),
        json!({"use-regex": "true"}),
        json!({"rewrite-target": "/$1", "whitelist-source-range": "10.0.0.0/8"}),
        json!({"server-alias": "a.test, b.test, c.test, d.test, e.test"}),
        json!({"app-root": "/x", "from-to-www-redirect": "true", "ssl-ciphers": "ECDHE-RSA-AES128-GCM-SHA256"}),
        json!({"auth-type": "basic", "auth-secret": "missing"}),
        json!({"auth-url": "http://127.0.0.1/"}),
        json!({"canary": "true", "canary-weight": "10"}),
        json!({"ssl-passthrough": "true", "auth-tls-secret": "a/missing"}),
    ]
}

/// So many Ingresses, each in a namespace of its own, or all in one.
fn translated(count: usize, in_one: bool, annotations: &Value, shared: &[&str]) -> Translation {
    let mut resources = Resources::default();
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sluice", "namespace": "sluice"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    });
    apply(&mut resources, settings);
    for n in 0..count {
        let namespace = format!("n{:03}", if in_one { 0 } else { n });
        let own = path(&format!("/p{n:03}/(.*)"), "ImplementationSpecific");
        let shared = shared.iter().map(|text| path(text, "Prefix"));
        let paths: Vec<Value> = shared.chain([own]).collect();
        let mut object = ingress(&namespace, "2020", annotations, rules(&[HOST], &paths));
        object["metadata"]["name"] = json!(format!("i{n:03}"));
        apply(&mut resources, object);
    }
    let options = Options {
        class_is_implied: true,
        ssl_passthrough: true,
        configmap: Some(ObjectKey::new("sluice", "sluice")),
        ..Options::default()
    };
    translate(&resources, &options)
}

/// The number of reports and their bytes.
fn size(translation: &Translation) -> (usize, usize) {
    let reports = translation.reports();
    let bytes = reports.iter().map(|report| report.to_string().len());
    (reports.len(), bytes.sum())
}

#[test]
fn reports_grow_as_owners_do() {
    for annotations in settings() {
        for (in_one, shared) in [(false, ["/"].as_slice()), (true, &["/"]), (false, &[])] {
            let of = |times| size(&translated(times * FEW, in_one, &annotations, shared));
            let (once, twice, thrice) = (of(1), of(2), of(3));
            assert_eq!(
                (thrice.0 - twice.0, thrice.1 - twice.1),
                (twice.0 - once.0, twice.1 - once.1),
                "{annotations} in one namespace: {in_one}"
            );
        }
    }
}

#[test]
fn an_ingress_hears_once_of_all_guards_of_others() {
    let guard = json!({"server-snippet": "deny all;"});
    for count in [1, 2, 4, 5, 30] {
        let translation = translated(count, false, &guard, &["/"]);
        let reports = translation.reports();
        let mut told: BTreeMap<(String, &str), usize> = BTreeMap::new();
        for report in reports.iter().filter(|it| {
            it.reason.contains("of other namespaces") || it.code.as_str() == "Insecure"
        }) {
            *told
                .entry((report.object.to_string(), &report.field))
                .or_default() += 1;
        }
        let expected = if count == 1 { 0 } else { 2 * count };
        assert_eq!(told.len(), expected, "{count}: {told:?}");
        assert!(told.values().all(|times| *times == 1), "{told:?}");
        let last = reports
            .iter()
            .rfind(|report| report.code.as_str() == "Insecure");
        let named = match count {
            1 => None,
            2 => Some("of Ingress n000/i000 that"),
            4 => Some("of Ingress n000/i000, Ingress n001/i001, Ingress n002/i002 that"),
            5 => {
                Some("of Ingress n000/i000, Ingress n001/i001, Ingress n002/i002 and 1 other that")
            }
            _ => Some(
                "of Ingress n000/i000, Ingress n001/i001, Ingress n002/i002 and 26 others that",
            ),
        };
        let reason = last.map_or("", |report| &report.reason);
        assert!(
            reason.contains(named.unwrap_or_default()),
            "{count}: {reason}"
        );
        assert_eq!(last.is_none(), named.is_none(), "{count}: {reason}");
    }
}
