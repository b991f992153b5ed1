//! Annotations of canaries.

use serde_json::{Value, json};
use sluice_ir::ReasonCode;
use sluice_translate_engine::Severity;

use super::reported;
use crate::annotations::catalogue::is_of_canaries;
use crate::annotations::{GROUPS, Risk, Role, Value as Kind};
use crate::global::Globals;

const CANARY: &str = "nginx.ingress.kubernetes.io/canary";

/// Whatever it says, it changes nothing of the canary, closes nothing, and its owner is told; a blank one says nothing.
#[test]
fn what_a_main_ingress_says_has_no_effect_on_a_canary() {
    let mut globals = Globals::default();
    globals.trust.risk = Risk::Critical;
    let read = |annotations: &Value| reported(annotations, &globals);
    let canary = json!({CANARY: "true"});
    let (alone, nothing) = read(&canary);
    assert!(alone.canary.is_some() && nothing.is_empty(), "{nothing:?}");
    let all = GROUPS.iter().flat_map(|group| group.annotations);
    let of_main = all.filter(|it| !is_of_canaries(it.name) && it.role != Role::Snippet);
    let mut seen = 0;
    for annotation in of_main {
        let first = match annotation.value {
            Kind::OneOf(values) => values[0],
            _ => "true",
        };
        for value in [
            first,
            "5",
            "HTTPS",
            "on",
            "default/none",
            "no such value",
            "ftp://a/",
            " ",
        ] {
            let mut annotations = canary.clone();
            annotations[format!("nginx.ingress.kubernetes.io/{}", annotation.name)] = json!(value);
            let (read, reports) = read(&annotations);
            assert_eq!(read, alone, "{}: {value}", annotation.name);
            if value == " " {
                assert!(reports.is_empty(), "{reports:?}");
                continue;
            }
            let [report] = reports.as_slice() else {
                panic!("{}: {value}: {reports:?}", annotation.name);
            };
            assert_eq!(report.field, format!("annotation {}", annotation.name));
            assert_eq!(
                (report.code, report.closed_for),
                (ReasonCode::NoEffect, None)
            );
            let is_of_first = ["auth-tls-", "proxy-ssl-"].map(|of| annotation.name.starts_with(of));
            assert_eq!(
                report.same_as_ingress_nginx,
                !is_of_first.contains(&true),
                "{report}"
            );
            let is_client_certificate = annotation.name == "auth-tls-secret";
            assert_eq!(
                report.severity == Severity::Warning,
                is_client_certificate,
                "{report}"
            );
        }
        seen += 1;
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn a_canary_has_a_choice_among_its_endpoints_of_its_own() {
    for (name, value) in [
        ("load-balance", "ewma"),
        ("upstream-hash-by", "$request_uri"),
        ("affinity", "cookie"),
        ("service-upstream", "true"),
        ("affinity-canary-behavior", "legacy"),
    ] {
        let alone = reported(&json!({CANARY: "true"}), &Globals::default()).0;
        let key = format!("nginx.ingress.kubernetes.io/{name}");
        let annotations = json!({CANARY: "true", key: value});
        let (read, reports) = reported(&annotations, &Globals::default());
        assert_ne!(read.backend, alone.backend, "{name}");
        assert!(reports.is_empty(), "{reports:?}");
    }
}
