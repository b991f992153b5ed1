//! R6: a snippet that is served keeps out whom it says, however the request is written.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(served_snippet_keeps_out_whom_it_says);

const LOCATION: &str = "configuration-snippet";
const SERVER: &str = "server-snippet";

/// Each keeps everybody in [`WAYS`] away from pods. `HOST` is the host's name.
const GUARDS: &[(&str, &str)] = &[
    (LOCATION, "deny all;"),
    (LOCATION, "deny 127.0.0.0/8;"),
    (LOCATION, "allow 10.0.0.0/8; deny all;"),
    (LOCATION, "return 403;"),
    (LOCATION, "if ($http_x_key != secret) { return 403; }"),
    (LOCATION, "if ($http_x_key !~ ^secret$) { return 403; }"),
    (LOCATION, "if ($cookie_key != secret) { return 403; }"),
    (LOCATION, "if ($host = HOST) { return 403; }"),
    (
        LOCATION,
        "if ($request_method ~ ^(GET|POST)$) { return 403; }",
    ),
    (
        LOCATION,
        "set $key 1; if ($http_x_key = secret) { set $key 0; } if ($key) { return 403; }",
    ),
    (SERVER, "deny all;"),
    (SERVER, "return 403;"),
    (SERVER, "if ($http_x_key = '') { return 403; }"),
    (SERVER, "if ($host = HOST) { return 403; }"),
];

/// Hosts, paths and headers of requests that go different ways.
const WAYS: &[(&str, &str, &[(&str, &str)])] = &[
    ("HOST", "/", &[]),
    ("HOST", "/canary", &[("x-canary", "always")]),
    ("HOST", "/%61/%2f", &[]),
    ("HOST", "/a/../b", &[]),
    (
        "HOST",
        "/?x-key=secret",
        &[("cookie", "a=b; xkey=secret; key=not")],
    ),
    (
        "HOST",
        "/",
        &[("connection", "upgrade"), ("upgrade", "websocket")],
    ),
    ("HOST", "/", &[("origin", "https://b.example")]),
    (
        "HOST",
        "/",
        &[
            ("x-original-method", "TRACE"),
            ("x-forwarded-host", "b.example"),
        ],
    ),
    ("HOST:80", "/", &[]),
    ("HOST:8443", "/x", &[]),
    ("UPPER", "/", &[]),
];

/// Spellings of a path that `$uri` is `/admin` for.
const ADMIN: &[&str] = &[
    "/admin",
    "/%61dmin",
    "/admin?x=/b",
    "/x/../admin",
    "//admin",
    "/./admin",
    "/admin?",
];

fn spelled(text: &str, host: &str) -> String {
    text.replace("HOST", host)
        .replace("UPPER", &host.to_uppercase())
}

async fn served_snippet_keeps_out_whom_it_says(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "sluice", "name": "sluice"},
        "data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"},
    });
    let mut objects = vec![settings];
    let mut add = |name: &str, annotation: &str, snippet: &str| {
        let host = format!("{name}.test");
        let ingress = Ingress::new(OWNER, name)
            .annotation(annotation, &spelled(snippet, &host))
            .annotation("custom-http-errors", "404")
            .host(&host)
            .path("/", "web", 80);
        let canary = Ingress::new(OWNER, &format!("{name}-canary"))
            .annotation("canary", "true")
            .annotation("canary-by-header", "x-canary")
            .host(&host)
            .path("/", "web", 80);
        objects.extend([ingress.to_json(), canary.to_json()]);
    };
    for (number, (annotation, snippet)) in GUARDS.iter().enumerate() {
        add(&format!("s{number}"), annotation, snippet);
    }
    add("admin", LOCATION, "if ($uri = /admin) { return 403; }");
    let open = Ingress::new(OWNER, "open")
        .host("open.test")
        .path("/", "web", 80);
    objects.push(open.to_json());
    tenants.write("all.yaml", &objects)?;
    let flags = ["--configmap", "sluice/sluice"].map(str::to_owned).into();
    let options = plane.options(&tenants.manifests).arguments(flags);
    let sluice = options.start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    sluice.wait_for_status("admin.test", "/", 200).await?;
    let before = tenants.received.len();
    let refused = async |what: &str, request: Request| -> Result<()> {
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.status == 403, "{what}: {request:?}: {answer:?}");
        Ok(())
    };
    for (number, (_, snippet)) in GUARDS.iter().enumerate() {
        let own = format!("s{number}.test");
        for (host, path, headers) in WAYS {
            let request = Request::get(&spelled(host, &own), path);
            let request = headers.iter().fold(request, |request, (name, value)| {
                request.header(name, value)
            });
            refused(snippet, request).await?;
        }
    }
    for path in ADMIN {
        refused("$uri", Request::get("admin.test", path)).await?;
    }
    ensure!(
        tenants.received.len() == before,
        "a pod was asked: {:?}",
        tenants.received.since(before)
    );
    sluice.stop()
}
