//! Rules that hold for every family.

use std::collections::BTreeSet;
use std::time::Duration;

use rcgen::{CertificateParams, DnType, KeyPair, SerialNumber};
use serde_json::{Value, json};
use sluice_translate::{self as translate, Kind, ObjectKey};
use sluice_xds_server::AccessLogEntry;

use super::*;
use crate::fixture::{flags, ingress, publish, request, view};

fn metrics(view: &View) -> Metrics {
    let identity = Identity {
        namespace: "sluice".to_owned(),
        class: "c".repeat(5_000),
        pod: "pod".to_owned(),
    };
    let data_plane = DataPlane::new(None).unwrap();
    Metrics::new(
        &identity,
        view.clone(),
        Store::new(),
        data_plane,
        Some(&flags("")),
    )
    .unwrap()
}

/// As long as what is read of a certificate can be.
fn secret(namespace: &str, host: &str) -> Value {
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.serial_number = Some(SerialNumber::from(vec![1; 100]));
    for kind in [DnType::OrganizationName, DnType::CommonName] {
        params.distinguished_name.push(kind, "n".repeat(256));
    }
    let serial = DnType::CustomDnType(vec![2, 5, 4, 5]);
    params.distinguished_name.push(serial, "s".repeat(256));
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": "tls"},
        "type": "kubernetes.io/tls",
        "stringData": {"tls.crt": certificate.pem(), "tls.key": key.serialize_pem()}})
}

/// A request to each route.
fn served(view: &View) -> Vec<AccessLogEntry> {
    let snapshot = view.snapshot();
    let routes = snapshot.config().routes();
    let requests = routes.map(|route| AccessLogEntry {
        backend: "b".repeat(5_000),
        ..request(route.id.as_str())
    });
    requests.collect()
}

fn check(metrics: &Metrics, namespace: &str, name: &str) {
    let (good, took) = (translate::Admission::default(), Duration::ZERO);
    let bad = translate::Admission {
        errors: vec!["bad".to_owned()],
        ..good.clone()
    };
    for answer in [good, bad] {
        metrics.admission().checked(namespace, name, &answer, took);
    }
}

async fn page(metrics: &Metrics) -> String {
    let parts = metrics.clone().render().await.unwrap();
    String::from_utf8(parts.concat()).unwrap()
}

/// No value of these tests has a quote in it.
fn longest_label(line: &str) -> usize {
    let values = line.split('"').skip(1).step_by(2);
    values.map(str::len).max().unwrap_or_default()
}

#[tokio::test]
async fn no_label_is_longer_than_its_limit_whatever_objects_and_clients_say() {
    let (name, host) = ("n".repeat(253), format!("{}.test", "h".repeat(63)));
    let long = format!("/{}", "p".repeat(4_000));
    let mut ingress = ingress(("n", &name), &host, &long);
    ingress["spec"]["tls"] = json!([{"hosts": [host], "secretName": "tls"}]);
    let view = view([ingress, secret("n", &host)]);
    let metrics = metrics(&view);
    metrics.requests().unwrap().take(&served(&view));
    let endless = "x".repeat(5_000);
    check(&metrics, &endless, &endless);
    metrics.controller().reloaded(&endless);
    let held = BTreeSet::from([ObjectKey::new(&*endless, &*endless)]);
    metrics.controller().held(&held);
    let page = page(&metrics).await;
    for family in [
        "requests",
        "request_size_bucket",
        "orphan_ingress",
        "refused_ingress",
        "reports",
        "check_success",
        "check_errors",
        "nginx_reloads_total",
        "ssl_expire_time_seconds",
        "ssl_certificate_info",
    ] {
        let begin = format!("nginx_ingress_controller_{family}{{");
        assert!(
            page.lines().any(|line| line.starts_with(&begin)),
            "{family}"
        );
    }
    for line in page.lines() {
        assert!(longest_label(line) <= 256, "{line}");
    }
    assert!(page.contains("path=\"/ppp") && page.contains("issuer_common_name=\"nnn"));
}

/// Families with the name of an Ingress.
const BY_INGRESS: [&str; 6] = [
    "requests",
    "request_duration_seconds_count",
    "orphan_ingress",
    "refused_ingress",
    "check_success",
    "check_errors",
];

fn has(page: &str, family: &str, (namespace, name): (&str, &str)) -> bool {
    let (namespace, name) = (
        format!("namespace=\"{namespace}\""),
        format!("ingress=\"{name}\""),
    );
    let begin = format!("nginx_ingress_controller_{family}{{");
    page.lines()
        .any(|line| line.starts_with(&begin) && line.contains(&namespace) && line.contains(&name))
}

#[tokio::test]
async fn names_that_read_the_same_when_joined_have_series_of_their_own() {
    for (one, other) in [
        (("shop1", "web"), ("shop", "1web")),
        (("a", "bc"), ("ab", "c")),
        (("a1", "2b"), ("a12", "b")),
    ] {
        let view = view([
            ingress(one, "same.test", "/"),
            ingress(other, "other.test", "/"),
        ]);
        let metrics = metrics(&view);
        for (namespace, name) in [one, other] {
            check(&metrics, namespace, name);
        }
        let keys = [one, other].map(|(namespace, name)| ObjectKey::new(namespace, name));
        metrics.controller().held(&BTreeSet::from(keys));
        let requests = metrics.requests().unwrap();
        requests.take(&served(&view));
        let before = page(&metrics).await;
        for family in BY_INGRESS {
            assert!(has(&before, family, one), "{family} {one:?}\n{before}");
            assert!(has(&before, family, other), "{family} {other:?}\n{before}");
        }

        view.resources_mut()
            .delete(Kind::Ingress, &ObjectKey::new(one.0, one.1));
        publish(&view);
        let after = page(&metrics).await;
        for family in [
            "requests",
            "request_duration_seconds_count",
            "orphan_ingress",
        ] {
            assert!(!has(&after, family, one), "{family} {one:?}\n{after}");
            assert!(has(&after, family, other), "{family} {other:?}\n{after}");
        }
    }
}

#[tokio::test]
async fn scrapes_that_come_together_are_one() {
    let metrics = metrics(&view([ingress(("n", "web"), "web.test", "/")]));
    let scrapes = (0..50).map(|_| {
        let metrics = metrics.clone();
        async move { metrics.page().await.unwrap() }
    });
    let all: tokio::task::JoinSet<Page> = scrapes.collect();
    let pages = all.join_all().await;
    // The same page, not equal ones.
    let first = pages.first().unwrap();
    assert!(pages.iter().all(|page| page.is_same(first)));
}

mod full_page;
