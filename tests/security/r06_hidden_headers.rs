//! R6: what the operator or a snippet hides from clients, and what pods tell nginx alone, reaches no client, whatever the client asks for
//! and whatever the pod answers.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(
    hidden_headers_reach_no_client,
    headers_that_snippets_take_away_reach_no_client,
);

const HOST: &str = "web.test";
const OF_PODS: &str = "not-for-clients";
const HIDDEN: [&str; 3] = ["X-Secret", "X-Powered-By", "X-Accel-Charset"];
const STATUSES: [u16; 8] = [200, 202, 204, 301, 304, 401, 404, 503];
const WAYS: &[&[(&str, &str)]] = &[
    &[],
    &[("connection", "upgrade"), ("upgrade", "websocket")],
    &[("connection", "Upgrade"), ("upgrade", "WebSocket")],
    &[("connection", "upgrade"), ("upgrade", "SPDY/3.1")],
    &[("connection", "upgrade"), ("upgrade", "tcp")],
    &[("origin", "https://a.example")],
];

async fn hidden_headers_reach_no_client(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"hide-headers": "X-Secret,X-Powered-By"},
    });
    let ingress = Ingress::new(OWNER, "web").host(HOST).path("/", "web", 80);
    tenants.write("all.yaml", &[settings, ingress.to_json()])?;
    let flags = ["--configmap", "sluice/sluice"].map(str::to_owned).into();
    let options = plane.options(&tenants.manifests).arguments(flags);
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    for status in STATUSES {
        let headers = HIDDEN.map(|name| (name.to_owned(), OF_PODS.to_owned()));
        let answer = Answer {
            status,
            headers: headers.into(),
            body: None,
            delay: Duration::ZERO,
        };
        tenants.owner.script(Script {
            answers: BTreeMap::from([("*".to_owned(), answer)]),
            ..Script::default()
        });
        for way in WAYS {
            let request = way
                .iter()
                .fold(Request::get(HOST, "/"), |request, (name, value)| {
                    request.header(name, value)
                });
            let before = tenants.received.len();
            let answer = http::send(sluice.http(), &request).await?;
            ensure!(
                tenants.received.len() > before,
                "{status} {way:?}: {answer:?}"
            );
            for name in HIDDEN {
                ensure!(
                    answer.header(name).is_none(),
                    "{status} {way:?}: {answer:?}"
                );
            }
        }
    }
    sluice.stop()
}

/// Each takes [`SECRET`] from responses, in a snippet of a server and one of a location.
const SNIPPETS: &[(&str, &str)] = &[
    ("", "more_clear_headers X-Secret;"),
    ("", "proxy_hide_header x-secret;"),
    ("", "more_set_headers 'X-SECRET:';"),
    ("", "more_set_headers X-Other: X-Secret;"),
    ("more_clear_headers X-Secret;", ""),
    ("more_clear_headers X-Secret;", "add_header X-A b always;"),
    (
        "",
        "proxy_hide_header X-Secret; add_header X-Secret own always;",
    ),
    (
        "",
        "proxy_hide_header X-Secret; more_set_headers 'x-secret: own';",
    ),
    (
        "",
        "more_clear_headers X-Secret; if ($http_origin) { more_set_headers 'X-B: c'; }",
    ),
];
const SECRET: &str = "X-Secret";

async fn headers_that_snippets_take_away_reach_no_client(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let ingress = |(number, (server, location)): (usize, &(&str, &str))| {
        Ingress::new(OWNER, &format!("s{number}"))
            .host(&format!("s{number}.test"))
            .path("/", "web", 80)
            .annotation("server-snippet", server)
            .annotation("configuration-snippet", location)
            .to_json()
    };
    let ingresses = SNIPPETS.iter().enumerate().map(ingress);
    let objects: Vec<_> = std::iter::once(snippets_permitted())
        .chain(ingresses)
        .collect();
    tenants.write("all.yaml", &objects)?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    for number in 0..SNIPPETS.len() {
        sluice
            .wait_for_status(&format!("s{number}.test"), "/", 200)
            .await?;
    }
    for status in STATUSES {
        let answer = Answer {
            status,
            headers: vec![(SECRET.to_owned(), OF_PODS.to_owned())],
            ..Answer::default()
        };
        tenants.owner.script(Script::echo().answer("*", answer));
        for (number, way) in
            (0..SNIPPETS.len()).flat_map(|number| WAYS.iter().map(move |way| (number, way)))
        {
            for path in ["/", "/%61"] {
                let request = Request::get(&format!("s{number}.test"), path).headers(way);
                let before = tenants.received.len();
                let answer = http::send(sluice.http(), &request).await?;
                let shown = || {
                    format!(
                        "{:?}: {status} {way:?} {path}: {answer:?}",
                        SNIPPETS[number]
                    )
                };
                ensure!(tenants.received.len() > before, "{}", shown());
                ensure!(
                    !answer.headers.iter().any(|(_, value)| value == OF_PODS),
                    "{}",
                    shown()
                );
            }
        }
    }
    sluice.stop()
}
