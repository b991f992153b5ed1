//! Error services hear which host clients asked for, whoever made the error: a pod, or the data plane before any pod was asked.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::script::Script;

use super::fixture::{Fixture, host, with_configmap};
use super::{Annotations, FORGED};
use crate::setup::{Plane, on_every_plane};

on_every_plane!(clients_cannot_forge_the_host_that_error_services_hear);

const DENYING_RULE: &str =
    "SecRuleEngine On\nSecRule REQUEST_URI \"@contains /\" \"id:1,phase:1,deny,status:403\"";

/// Everybody who can make an error, each by a host of its own, and the status.
const ERRORS: &[(&str, u16, Annotations)] = &[
    ("failing", 500, &[]),
    ("denied", 403, &[("denylist-source-range", "127.0.0.0/8")]),
    (
        "not-allowed",
        403,
        &[("whitelist-source-range", "192.0.2.0/24")],
    ),
    (
        "without-password",
        401,
        &[("auth-type", "basic"), ("auth-secret", "users")],
    ),
    ("refused", 403, &[("auth-url", "http://auth.default.svc/")]),
    (
        "counted",
        503,
        &[("limit-rpm", "1"), ("limit-burst-multiplier", "1")],
    ),
    (
        "inspected",
        403,
        &[
            ("enable-modsecurity", "true"),
            ("modsecurity-snippet", DENYING_RULE),
        ],
    ),
    ("guarded", 403, &[("configuration-snippet", "deny all;")]),
    ("answered", 404, &[("configuration-snippet", "return 404;")]),
    (
        "answered-some",
        405,
        &[(
            "configuration-snippet",
            "if ($request_method = GET) { return 405; }",
        )],
    ),
];

async fn clients_cannot_forge_the_host_that_error_services_hear(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    for (name, status, annotations) in ERRORS {
        let status = status.to_string();
        let pages = [
            ("custom-http-errors", status.as_str()),
            ("default-backend", "errors"),
        ];
        fixture.ingress(name, "/", &[&pages, *annotations].concat())?;
    }
    fixture.ingress("last", "/", &[])?;
    fixture.auth.script(Script::status(403));
    let settings =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"});
    let sluice = with_configmap(plane, &fixture, &settings)?.start().await?;
    sluice.wait_for_status(&host("last"), "/", 200).await?;
    for (name, status, _) in ERRORS {
        let place = fixture.received.len();
        let request = Request::get(&host(name), "/fails?x=1").header("X-Forwarded-Host", FORGED);
        // A limit lets the first ones through.
        for _ in 0..3 {
            http::send(sluice.http(), &request).await?;
        }
        let heard = fixture.received.since(place).into_iter();
        let heard: Vec<_> = heard.filter(|it| it.service == "errors").collect();
        ensure!(!heard.is_empty(), "{plane:?} {name}: nobody was asked");
        for request in heard {
            let (code, asked) = (status.to_string(), host(name));
            let expected = [
                ("x-code", code.as_str()),
                ("x-forwarded-host", &asked),
                ("host", &asked),
                ("x-original-uri", "/fails?x=1"),
                ("x-ingress-name", name),
            ];
            for (header, value) in expected {
                let said = match header {
                    "host" => request.host.clone(),
                    _ => request.header(header),
                };
                ensure!(
                    said.as_deref() == Some(value),
                    "{plane:?} {name}: {header}: expected {value}, got {said:?}"
                );
            }
        }
    }
    sluice.stop()
}
