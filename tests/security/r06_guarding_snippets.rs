//! R6: a snippet that is served keeps out whom it says, however the request is written.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{
    FOREIGN, OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted,
};

on_every_plane!(
    served_snippet_keeps_out_whom_it_says,
    guard_that_cannot_be_compared_closes,
    locations_take_nothing_of_others,
);

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
    (
        LOCATION,
        "if ($http_x_key != secret) { set $key 1; } if ($key) { return 403; }",
    ),
    (LOCATION, "if ($uri ~ ^/) { return 403; }"),
    (
        LOCATION,
        "if ($http_cookie !~ ^key=secret$) { return 403; }",
    ),
    (LOCATION, "if ($arg_key != secret) { return 403; }"),
    (LOCATION, "if ($args !~ ^key=secret$) { return 403; }"),
    (SERVER, "deny all;"),
    (SERVER, "return 403;"),
    (SERVER, "if ($http_x_key = '') { return 403; }"),
    (SERVER, "if ($host = HOST) { return 403; }"),
];

type Headers = &'static [(&'static str, &'static str)];

/// Hosts, paths and headers of requests that go different ways.
const WAYS: &[(&str, &str, Headers)] = &[
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

/// Each guard on a host of its own, with a canary and an error service.
fn guarded(name: &str, annotation: &str, snippet: &str) -> [Value; 2] {
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
    [ingress.to_json(), canary.to_json()]
}

fn objects() -> Vec<Value> {
    let mut objects = vec![snippets_permitted()];
    for (number, (annotation, snippet)) in GUARDS.iter().enumerate() {
        objects.extend(guarded(&format!("s{number}"), annotation, snippet));
    }
    let admin = "if ($uri = /admin) { return 403; }";
    objects.extend(guarded("admin", LOCATION, admin));
    let open = Ingress::new(OWNER, "open").host("open.test");
    objects.push(open.path("/", "web", 80).to_json());
    objects
}

async fn served_snippet_keeps_out_whom_it_says(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("all.yaml", &objects())?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
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
            let request = Request::get(&spelled(host, &own), path).headers(headers);
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

/// Nobody is kept out of pods by guards that a data plane cannot compare as nginx does: it keeps out everybody.
const INCOMPARABLE: &[&str] = &[
    "if ($request_uri ~ %2f) { return 403; }",
    "if ($request_uri !~ ^/public/) { return 403; }",
    "if ($http_host != a.test) { return 403; }",
    "if ($uri ~ (?=a)) { return 403; }",
    "if ($http_cookie ~ '; a') { return 403; }",
    "set $args ''; if ($args = a) { return 403; }",
    "if ($remote_addr = 10.0.0.1) { return 403; }",
];

/// Variables that nginx compares.
const OF_NGINX: [&str; 3] = ["$request_uri", "$remote_addr", "$http_cookie"];

async fn guard_that_cannot_be_compared_closes(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let mut objects = objects();
    for (number, snippet) in INCOMPARABLE.iter().enumerate() {
        objects.extend(guarded(&format!("i{number}"), LOCATION, snippet));
    }
    let method = "if ($request_method = DELETE) { return 403; }";
    objects.extend(guarded("method", LOCATION, method));
    tenants.write("all.yaml", &objects)?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    sluice.wait_for_status("method.test", "/", 200).await?;
    for (number, snippet) in INCOMPARABLE.iter().enumerate() {
        let answer = sluice.get(&format!("i{number}.test"), "/public/").await?;
        let is_compared = plane == Plane::Nginx && OF_NGINX.iter().any(|it| snippet.contains(it));
        let expected = if is_compared { 200 } else { 503 };
        ensure!(answer.status == expected, "{snippet}: {answer:?}");
    }
    // Some pods take it for the method in capitals.
    for method in ["DELETE", "delete", "Delete"] {
        let request = Request::new(method, "method.test", "/");
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.pod().is_none(), "{method}: {answer:?}");
    }
    sluice.stop()
}

/// A location is a path of its namespace: it takes nothing that an older namespace's path takes.
async fn locations_take_nothing_of_others(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let prefixes = "location = /owned { return 410; }\nlocation ^~ /owned/ { return 410; }\nlocation /own { return 410; }";
    let patterns = "location ~ /owned { return 410; }\nlocation ~ . { return 410; }";
    let mut objects = vec![snippets_permitted()];
    for (host, of_foreign) in [("shared.test", prefixes), ("patterns.test", patterns)] {
        let owner = Ingress::new(OWNER, host).host(host);
        let owner = owner
            .annotation("server-snippet", "location ~ secret { deny all; }")
            .path("/owned", "web", 80)
            .path("/public", "web", 80);
        let foreign = Ingress::new(FOREIGN, host).host(host);
        let foreign = foreign
            .annotation("server-snippet", of_foreign)
            .path("/foreign", "web", 80);
        objects.extend([owner.to_json(), foreign.to_json()]);
    }
    let exact = "location = / { return 410; }\nlocation = /owned/ { return 410; }\nlocation = /foreign/ { return 410; }";
    let owner = Ingress::new(OWNER, "exact").host("exact.test");
    let owner = owner.path("/", "web", 80).path("/owned/", "web", 80);
    let foreign = Ingress::new(FOREIGN, "exact").host("exact.test");
    let foreign = foreign.annotation("server-snippet", exact);
    objects.extend([
        owner.to_json(),
        foreign.path("/foreign", "web", 80).to_json(),
    ]);
    tenants.write("all.yaml", &objects)?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    for (host, path, pod, status) in [
        ("shared.test", "/owned", Some(OWNER), 200),
        ("shared.test", "/owned/x", Some(OWNER), 200),
        ("shared.test", "/public/x", Some(OWNER), 200),
        ("shared.test", "/public/secret", None, 403),
        ("shared.test", "/owned/secret", None, 403),
        ("shared.test", "/foreign/secret", Some(FOREIGN), 200),
        ("patterns.test", "/owned", Some(OWNER), 200),
        ("patterns.test", "/owned/x", Some(OWNER), 200),
        ("patterns.test", "/public/secret", None, 403),
        ("patterns.test", "/foreign/x", None, 410),
        ("exact.test", "/", Some(OWNER), 200),
        ("exact.test", "//?x", Some(OWNER), 200),
        ("exact.test", "/owned/", Some(OWNER), 200),
        ("exact.test", "/foreign", Some(FOREIGN), 200),
        ("exact.test", "/foreign/", None, 410),
    ] {
        sluice.wait_for_status(host, path, status).await?;
        let answer = sluice.get(host, path).await?;
        let is_right = answer.status == status && answer.pod() == pod;
        ensure!(is_right, "{host}{path}: {answer:?}");
    }
    sluice.stop()
}
