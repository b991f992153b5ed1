//! A healthy installation, and each way in which one is not.

mod before;
mod cluster;
mod content;
mod pods;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};

use super::*;
use crate::discovery::Webhooks;

/// 2030-01-01.
const NOW: i64 = 1_893_456_000;
const SETTINGS: Settings = Settings {
    now: NOW,
    certificate_days: 21,
    version: "0.1.0",
};
const PAGE: &str = "\
nginx_ingress_controller_build_info{release=\"0.1.0\"} 1
nginx_ingress_controller_config_last_reload_successful{controller_pod=\"c\"} 1
nginx_ingress_controller_data_planes{version=\"1.40.0\"} 1
nginx_ingress_controller_leader_election_status{name=\"l\"} 1
";

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn pod(component: &str, ready: &str) -> Pod {
    read(json!({
        "metadata": { "namespace": "edge", "name": format!("{component}-0"), "labels": { "app": "sluice", "component": component } },
        "spec": {
            "containers": [{ "name": "c", "volumeMounts": [{ "name": "admission", "mountPath": "/etc/admission" }] }],
            "volumes": [{ "name": "admission", "secret": { "secretName": "admission" } }],
        },
        "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] },
    }))
}

/// An authority, and a certificate of its for the webhook that ends on a day of January 2030.
fn pair(day: u8) -> (String, String) {
    let (authority, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    let pem = params.self_signed(&authority).unwrap().pem();
    let issuer = Issuer::new(params, authority);
    let mut params = CertificateParams::new(vec!["hook.edge.svc".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2030, 1, day);
    (pem, params.signed_by(&key, &issuer).unwrap().pem())
}

fn webhooks(name: &str, service: &str, authority: &str) -> Webhooks {
    let mut webhooks: Webhooks = read(json!({
        "metadata": { "name": name },
        "webhooks": [{
            "name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "rules": [{ "apiGroups": ["networking.k8s.io"], "resources": ["ingresses"] }],
            "clientConfig": { "service": { "namespace": "edge", "name": service } },
        }],
    }));
    let bundle = k8s_openapi::ByteString(authority.as_bytes().to_vec());
    webhooks.webhooks.as_mut().unwrap()[0]
        .client_config
        .ca_bundle = Some(bundle);
    webhooks
}

fn secret(certificate: &str) -> Secret {
    let value = k8s_openapi::ByteString(certificate.as_bytes().to_vec());
    Secret {
        data: Some(BTreeMap::from([("tls.crt".to_owned(), value)])),
        ..Secret::default()
    }
}

fn class(name: &str, controller: &str) -> k8s_openapi::api::networking::v1::IngressClass {
    read(json!({ "metadata": { "name": name }, "spec": { "controller": controller } }))
}

fn service() -> Service {
    read(json!({ "spec": { "selector": { "app": "sluice", "component": "controller" } } }))
}

fn server() -> Server {
    Server {
        url: "https://api".to_owned(),
        version: Ok("v1.33.1".to_owned()),
    }
}

fn healthy() -> Facts {
    let (authority, certificate) = pair(31);
    let flags = Flags {
        ingress_class: "nginx".to_owned(),
        controller_class: "example.org/c".to_owned(),
        webhook_certificate: Some("/etc/admission/tls.crt".to_owned()),
        elects: true,
        ..Flags::default()
    };
    let installation = Installation {
        namespace: "edge".to_owned(),
        controllers: vec![Controller {
            pod: pod("controller", "True"),
            metrics: Ok(PAGE.to_owned()),
        }],
        rights: flags
            .needs
            .rights()
            .into_iter()
            .map(|right| (right, Ok(true)))
            .collect(),
        flags: Ok(flags),
        account: Account::Other("system:serviceaccount:edge:sluice".to_owned()),
        data_planes: Ok(vec![pod("data-plane", "True")]),
        secrets: BTreeMap::from([("edge/admission".to_owned(), Ok(Some(secret(&certificate))))]),
        served: Ok(Served {
            certificates: vec![of_host("a.example", &certificate)],
            sum: "1 Ingress: 1 works unchanged".to_owned(),
            has_errors: false,
        }),
    };
    Facts {
        server: server(),
        installation: Ok(installation),
        classes: Ok(vec![class("nginx", "example.org/c")]),
        webhooks: Ok(vec![webhooks("ours", "hook", &authority)]),
        services: BTreeMap::from([("edge/hook".to_owned(), Ok(Some(service())))]),
    }
}

fn of_host(host: &str, chain: &str) -> HostCertificate {
    HostCertificate {
        host: host.to_owned(),
        secret: "shop/tls".to_owned(),
        chain: chain.to_owned(),
    }
}

#[test]
fn of_a_healthy_installation_every_section_is_fine() {
    let list = running(&healthy(), &SETTINGS);
    assert_eq!(list.status(), Status::Ok, "{}", list.text(false));
    assert_eq!(list.sections().count(), 8, "{}", list.text(false));
}

/// Section, result, a part of the message, a part of the advice, and how it comes to that.
type Case = (Section, Status, &'static str, &'static str, fn(&mut Facts));

fn installed(facts: &mut Facts) -> &mut Installation {
    facts.installation.as_mut().unwrap()
}

fn flags(facts: &mut Facts) -> &mut Flags {
    installed(facts).flags.as_mut().unwrap()
}

fn page(facts: &mut Facts) -> &mut String {
    installed(facts).controllers[0].metrics.as_mut().unwrap()
}

fn replace(facts: &mut Facts, from: &str, to: &str) {
    let page = page(facts);
    assert!(page.contains(from), "{from}");
    *page = page.replace(from, to);
}

fn forbidden<T>() -> Read<T> {
    Err("x is forbidden".to_owned())
}

fn hook(facts: &mut Facts) -> &mut k8s_openapi::api::admissionregistration::v1::ValidatingWebhook {
    &mut facts.webhooks.as_mut().unwrap()[0]
        .webhooks
        .as_mut()
        .unwrap()[0]
}

#[test]
fn each_fault_is_found_in_its_section_with_something_to_do() {
    let all = cluster::CASES
        .iter()
        .chain(&pods::CASES)
        .chain(&content::CASES);
    for (section, status, message, advice, fault) in all {
        let mut facts = healthy();
        fault(&mut facts);
        let list = running(&facts, &SETTINGS);
        let mut checks = list
            .sections()
            .filter(|(of, _)| of == section)
            .flat_map(|(_, checks)| checks);
        let found = checks.any(|check| {
            check.status == *status
                && check.message.contains(*message)
                && check.advice.contains(*advice)
        });
        assert!(found, "{section:?} {message:?}: {}", list.text(false));
    }
}

/// Certificates of the webhook, of pods and of hosts.
#[test]
fn certificates_that_have_ended_are_failures() {
    let later = Settings {
        now: NOW + 32 * 24 * 3600,
        ..SETTINGS
    };
    let list = running(&healthy(), &later);
    let text = list.text(false);
    for line in [
        "× certificate of a.example (Secret shop/tls) ended 2 days ago",
        "× tls.crt of Secret edge/admission ended 2 days ago",
        "× ValidatingWebhookConfiguration ours: the API server does not trust",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

/// Whatever could not be read, the rest is checked, nothing is a failure for it, and nothing is fine for it.
#[test]
fn nothing_unread_is_fine_or_a_failure() {
    let mut facts = healthy();
    facts.server.version = forbidden();
    facts.classes = forbidden();
    facts.webhooks = forbidden();
    let installed = installed(&mut facts);
    installed.controllers[0].metrics = forbidden();
    installed.data_planes = forbidden();
    installed
        .secrets
        .insert("edge/admission".to_owned(), forbidden());
    installed.served = forbidden();
    for (_, allowed) in &mut installed.rights {
        *allowed = forbidden();
    }
    let list = running(&facts, &SETTINGS);
    let text = list.text(false);
    let fine: Vec<&str> = text.lines().filter(|line| line.starts_with('√')).collect();
    assert_eq!(fine, ["√ 1 pod of the controller in edge: ready"], "{text}");
    assert_eq!(list.status(), Status::Warning, "{text}");
}
