//! R6: what an authentication service tells pods in a header, no client tells them in its place or takes from them, whoever lets it in
//! and however its request goes on.

mod error_services;
mod fixture;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::setup::{Plane, on_every_plane};
use fixture::{Fixture, host, with_configmap};

on_every_plane!(
    clients_cannot_forge_auth_response_headers,
    clients_cannot_forge_proxy_headers_to_the_auth_service,
    clients_cannot_override_headers_of_the_operator,
);

const FORGED: &str = "forged";
/// A path without the operator's authentication service.
const GLOBAL_AUTH: &str = "out-of-all";

/// Twice, in capital letters, and with an underscore: a client writes what it likes.
fn forged(name: &str, path: &str) -> Request {
    let request = Request::get(&host(name), path);
    let request = request
        .header("X-User", FORGED)
        .header("x-user", FORGED)
        .header("X-Group", FORGED);
    request.header("X_User", FORGED).header("x_group", FORGED)
}

async fn send(sluice: &Sluice, request: &Request) -> Result<Response> {
    http::send(sluice.http(), request).await
}

type Annotations = &'static [(&'static str, &'static str)];

/// All ways on which a request gets to somebody who listens: with the headers of the service, or without it being asked.
const CASES: &[(&str, &str, Annotations)] = &[
    ("asked", "/", &[]),
    (
        "satisfied-by-address",
        "/",
        &[
            ("satisfy", "any"),
            ("whitelist-source-range", "127.0.0.0/8"),
        ],
    ),
    (
        "satisfied-by-password",
        "/",
        &[
            ("satisfy", "any"),
            ("auth-type", "basic"),
            ("auth-secret", "users"),
        ],
    ),
    ("not-asked-here", "/.well-known/acme-challenge/x", &[]),
    ("remembered", "/", &[("auth-cache-key", "fixed")]),
    (
        "failing",
        "/fails",
        &[("custom-http-errors", "500"), ("default-backend", "errors")],
    ),
    ("copied", "/", &[]),
    ("main", "/", &[]),
    (
        "shared-with-others",
        "/",
        &[
            ("enable-cors", "true"),
            ("cors-allow-origin", "https://a.example"),
        ],
    ),
];

/// Every way of a request, each by a host of its own.
fn apply_cases(fixture: &Fixture) -> Result<()> {
    let asked = [
        ("auth-url", "http://auth.default.svc/"),
        ("auth-response-headers", "X-User,X-Group"),
    ];
    let copies = format!(
        "http://copies.default.svc.cluster.local:{}",
        fixture.auth.addr().port()
    );
    for (name, path, annotations) in CASES {
        let copied = (*name == "copied").then_some(("mirror-target", copies.as_str()));
        let copied: Vec<_> = copied.into_iter().collect();
        fixture.ingress(name, path, &[&asked[..], annotations, &copied].concat())?;
    }
    let canary = [("canary", "true"), ("canary-by-header", "x-canary")];
    let canary = canary.iter().fold(
        Ingress::new("default", "second"),
        |ingress, (name, value)| ingress.annotation(name, value),
    );
    fixture
        .manifests
        .ingress(&canary.host(&host("main")).path("/", "canary", 80))?;
    fixture.ingress("nobody-asks", "/", &asked[1..])?;
    fixture.ingress(GLOBAL_AUTH, "/", &[("enable-global-auth", "false")])?;
    fixture.ingress("last", "/", &[("enable-global-auth", "false")])?;
    Ok(())
}

async fn ensure_no_forged_header_arrived(fixture: &Fixture) -> Result<()> {
    let copies = async || {
        fixture
            .received
            .since(0)
            .iter()
            .any(|request| request.service == "copies")
            .then_some(())
    };
    wait::until("a copy", copies).await?;
    for service in ["canary", "errors"] {
        ensure!(
            fixture
                .received
                .since(0)
                .iter()
                .any(|request| request.service == service),
            "{service} heard nothing"
        );
    }
    let of_copies = fixture
        .received(0, "x-user")
        .into_iter()
        .filter(|user| user.starts_with("copies"));
    let values: Vec<String> = of_copies.chain(fixture.received(0, "x-group")).collect();
    ensure!(
        values.iter().all(|value| !value.contains(FORGED)),
        "{values:?}"
    );
    Ok(())
}

async fn clients_cannot_forge_auth_response_headers(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    apply_cases(&fixture)?;
    let operator = json!({
        "global-auth-url": "http://auth.default.svc/", "global-auth-response-headers": "X-Group",
        "enable-underscores-in-headers": "true",
    });
    let sluice = with_configmap(plane, &fixture, &operator)?.start().await?;
    sluice.wait_for_status(&host("last"), "/", 200).await?;
    for (said, says) in [("", None), ("X-User", Some("ada"))] {
        let headers = says
            .iter()
            .map(|value| (said.to_owned(), (*value).to_owned()))
            .collect();
        fixture.auth.script(Script::echo().answer(
            "*",
            Answer {
                headers,
                ..Answer::default()
            },
        ));
        let place = fixture.received.len();
        let cases = CASES.iter().map(|(name, path, _)| (*name, *path));
        for (name, path) in cases.chain([("nobody-asks", "/"), (GLOBAL_AUTH, "/")]) {
            let place = fixture.received.len();
            all_requests(&sluice, name, path)
                .await
                .with_context(|| name.to_owned())?;
            // Copies may come later.
            let arrived = async || (fixture.received.len() > place).then_some(());
            wait::until(name, arrived).await?;
            let told = fixture.received(place, "connection");
            ensure!(
                told.iter().all(|told| names_no_header(told)),
                "{name}: {told:?}"
            );
            // Its service is the operator's, which says nothing of users.
            let users = if name == GLOBAL_AUTH {
                Vec::new()
            } else {
                fixture.received(place, "x-user")
            };
            let values = [users, fixture.received(place, "x-group")].concat();
            ensure!(
                values.iter().all(|value| !value.contains(FORGED)),
                "{name}: {values:?}"
            );
        }
        let users = fixture.received(place, "x-user");
        ensure!(
            users.iter().any(|user| user == "web: ada") == says.is_some(),
            "{users:?}"
        );
    }
    ensure_no_forged_header_arrived(&fixture).await?;
    sluice.stop()
}

/// A pod that is a proxy takes away what `Connection` names.
fn names_no_header(told: &str) -> bool {
    let options = told.split_once(": ").unwrap_or_default().1;
    let mut options = options.split(',').map(str::trim);
    options.all(|option| ["upgrade", "keep-alive", "close"].contains(&option))
}

/// In every form that a request may have: plain, for a canary, as a preflight, and to be upgraded.
async fn all_requests(sluice: &Sluice, name: &str, path: &str) -> Result<()> {
    let password = format!("Basic {}", STANDARD.encode("ada:secret"));
    let plain = || match name {
        "satisfied-by-password" => forged(name, path).header("authorization", &password),
        _ => forged(name, path),
    };
    let origin = plain()
        .header("origin", "https://b.example")
        .header("access-control-request-method", "GET");
    let requests = [
        plain(),
        plain().header("x-canary", "always"),
        Request {
            method: "OPTIONS".to_owned(),
            ..origin
        },
        Request {
            method: "POST".to_owned(),
            ..plain().body("a body")
        },
        plain()
            .header("connection", "Upgrade, X-User, X-Group, X-Real-Ip")
            .header("upgrade", "websocket"),
        plain().header("connection", "close, X-User, X-Group, X-Real-Ip"),
    ];
    for request in requests {
        let answer = send(sluice, &request).await?;
        ensure!(
            [200, 500].contains(&answer.status),
            "{request:?}: {}",
            answer.status
        );
    }
    Ok(())
}

/// All by which services know the request that they are asked about, in front of whatever proxy.
const PROXY_HEADERS: &[&str] = &[
    "Forwarded",
    "Proxy",
    "X-Forwarded-Any",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Method",
    "X-Forwarded-Prefix",
    "X-Forwarded-Proto",
    "X-Forwarded-Scheme",
    "X-Forwarded-Server",
    "X-Forwarded-Uri",
    "X-Original-Host",
    "X-Original-Method",
    "X-Original-Uri",
    "X-Original-Url",
    "X-Auth-Request-Redirect",
    "X-Real-Ip",
    "X-Rewrite-Url",
    "X-Scheme",
    "X-Sent-From",
    "Ssl-Client-Subject-Dn",
    "Ssl-Client-Verify",
];

async fn clients_cannot_forge_proxy_headers_to_the_auth_service(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let asked = ("auth-url", "http://auth.default.svc/");
    fixture.ingress("plain", "/", &[asked])?;
    fixture.ingress("method", "/", &[asked, ("auth-method", "POST")])?;
    fixture.ingress("either", "/", &[asked, ("satisfy", "any")])?;
    let sluice = with_configmap(
        plane,
        &fixture,
        &json!({"enable-underscores-in-headers": "true"}),
    )?
    .start()
    .await?;
    for name in ["plain", "method", "either"] {
        sluice.wait_for_status(&host(name), "/", 200).await?;
        let place = fixture.asked.len();
        let spelled = PROXY_HEADERS
            .iter()
            .flat_map(|name| [(*name).to_owned(), name.replace('-', "_")]);
        let request = Request::get(&host(name), "/").header("X-Own", "own");
        let request = spelled.fold(request, |request, header| request.header(&header, FORGED));
        let answer = send(&sluice, &request).await?;
        ensure!(answer.status == 200, "{plane:?} {name}: {answer:?}");
        let received = fixture.asked.since(place);
        let [received] = received.as_slice() else {
            anyhow::bail!("{plane:?} {name}: {received:?}")
        };
        let forged: Vec<_> = received
            .headers
            .iter()
            .filter(|(_, said)| said.join(", ").contains(FORGED))
            .collect();
        ensure!(forged.is_empty(), "{plane:?} {name}: {forged:?}");
        ensure!(
            received.header("x-own").as_deref() == Some("own"),
            "{plane:?} {name}: {received:?}"
        );
    }
    sluice.stop()
}

/// `proxy-set-headers`: what a pod hears is what the operator says, and nothing when that is nothing.
async fn clients_cannot_override_headers_of_the_operator(plane: Plane) -> Result<()> {
    let fixture = Fixture::start().await?;
    let metadata = json!({"namespace": "sluice", "name": "headers"});
    let headers = json!({
        "X-User": "", "X-Group": "$http_x_absent", "X-Token": "$http_authorization", "Authorization": "",
        "X-Own": "$http_x_own", "X-Unknown": "$upstream_addr", "X-Team": "shop",
    });
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": headers});
    fixture.manifests.object(&map)?;
    fixture.ingress("plain", "/", &[])?;
    let asked = [
        ("auth-url", "http://auth.default.svc/"),
        ("auth-response-headers", "X-User"),
    ];
    fixture.ingress("asked", "/", &asked)?;
    let settings = json!({"proxy-set-headers": "sluice/headers"});
    let sluice = with_configmap(plane, &fixture, &settings)?.start().await?;
    fixture.auth.script(Script::echo().answer(
        "*",
        Answer {
            headers: vec![("X-User".to_owned(), "ada".to_owned())],
            ..Answer::default()
        },
    ));
    sluice.wait_for_status(&host("asked"), "/", 200).await?;
    for (name, user) in [("plain", None), ("asked", Some("ada"))] {
        let request = forged(name, "/")
            .header("X-Unknown", FORGED)
            .header("X-Team", FORGED);
        let request = request
            .header("Authorization", "Bearer token")
            .header("X-Own", "own");
        let answer = send(&sluice, &request).await?;
        let pod = answer.json()?;
        let received = |header: &str| pod["headers"][header][0].as_str().map(str::to_owned);
        ensure!(
            received("x-user").as_deref() == user,
            "{plane:?} {name}: {pod}"
        );
        for gone in ["x-group", "x-unknown", "authorization"] {
            ensure!(
                received(gone).is_none(),
                "{plane:?} {name}: {gone} in {pod}"
            );
        }
        for (header, said) in [
            ("x-team", "shop"),
            ("x-token", "Bearer token"),
            ("x-own", "own"),
        ] {
            ensure!(
                received(header).as_deref() == Some(said),
                "{plane:?} {name}: {header} in {pod}"
            );
        }
    }
    sluice.stop()
}
