//! R6: a snippet that is served guards as it is written: what it takes out of requests reaches no pod, however the request goes
//! on, and what it takes out of responses no client (`r06_hidden_headers`).

use anyhow::{Result, ensure};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Sluice;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(served_snippet_of_headers_guards_as_written);

const OF_CLIENTS: &str = "made-up";

/// Each keeps a header of clients from pods: this one.
const SNIPPETS: &[(&str, &str)] = &[
    (r#"proxy_set_header X-Remote-User "";"#, USER),
    ("proxy_set_header x-remote-user nobody;", USER),
    ("more_set_input_headers 'X-Remote-User: nobody';", USER),
    ("more_clear_input_headers X-Remote-User;", USER),
    ("more_set_input_headers 'X-Remote-User:';", USER),
    (
        "proxy_set_header X-Forwarded-Proto https;",
        "X-Forwarded-Proto",
    ),
    ("proxy_set_header X-Forwarded-Proto https;", "X-Scheme"),
    (
        "more_set_input_headers 'X-Forwarded-Proto: http';",
        "X-Forwarded-Scheme",
    ),
    ("proxy_set_header X-Forwarded-Port 443;", "X-Forwarded-Port"),
    (
        "proxy_set_header X-Forwarded-Prefix /a;",
        "X-Forwarded-Prefix",
    ),
    (
        "proxy_set_header X-Original-URI $request_uri;",
        "X-Original-URI",
    ),
    (
        "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-A b;",
        "X-Forwarded-For",
    ),
];
const USER: &str = "X-Remote-User";

/// Paths and headers of requests that go different ways.
const WAYS: &[(&str, &[(&str, &str)])] = &[
    ("/", &[]),
    ("/canary", &[("x-canary", "always")]),
    ("/%61/%2f", &[]),
    ("/a/../b", &[]),
    ("/", &[("connection", "upgrade"), ("upgrade", "websocket")]),
    ("/", &[("origin", "https://b.example")]),
];

async fn send(
    sluice: &Sluice,
    host: &str,
    path: &str,
    name: &str,
    headers: &[(&str, &str)],
) -> Result<Response> {
    let request = Request::get(host, path)
        .header(name, OF_CLIENTS)
        .header(&name.to_ascii_uppercase(), OF_CLIENTS);
    http::send(sluice.http(), &request.headers(headers)).await
}

async fn served_snippet_of_headers_guards_as_written(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut objects = vec![snippets_permitted()];
    for (number, (snippet, _)) in SNIPPETS.iter().enumerate() {
        let (name, host) = (format!("s{number}"), format!("s{number}.test"));
        let ingress = Ingress::new(OWNER, &name)
            .annotation("configuration-snippet", snippet)
            .host(&host)
            .path("/", "web", 80);
        let canary = Ingress::new(OWNER, &format!("{name}-canary"))
            .annotation("canary", "true")
            .annotation("canary-by-header", "x-canary")
            .host(&host)
            .path("/", "web", 80);
        objects.extend([ingress.to_json(), canary.to_json()]);
    }
    tenants.write("all.yaml", &objects)?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    for (number, (snippet, name)) in SNIPPETS.iter().enumerate() {
        let host = format!("s{number}.test");
        sluice.wait_for_status(&host, "/", 200).await?;
        for (path, headers) in WAYS {
            let before = tenants.received.len();
            let answer = send(&sluice, &host, path, name, headers).await?;
            let received = tenants.received.since(before);
            ensure!(
                received.len() == 1,
                "{snippet}: {path} {headers:?}: {answer:?}"
            );
            for request in received {
                let said = request.header(name).unwrap_or_default();
                ensure!(
                    !said.contains(OF_CLIENTS) && !said.contains(','),
                    "{snippet}: {path} {headers:?}: {said}"
                );
            }
        }
    }
    sluice.stop()
}
