//! R10: no text of a client ends a line of a header, of a response or of a request to a pod, however it gets there.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(client_text_ends_no_header_line);

/// Annotations that put parts of a request into headers, and the path of their Ingress.
const INTO_HEADERS: &[(&str, &str, &str)] = &[
    ("rewrite-target", "https://b.test/$1", "/a/([^/]+)"),
    ("rewrite-target", "/b/$1", "/a/([^/]+)"),
    ("upstream-vhost", "a$uri", "/"),
    ("upstream-vhost", "a${cookie_a}$arg_a", "/"),
    ("x-forwarded-prefix", "/a", "/a/([^/]+)"),
    ("x-forwarded-prefix", "/b/$1", "/a/([^/]+)"),
    ("x-forwarded-prefix", "$1", "/a/([^?]*)"),
    ("app-root", "/a", "/"),
    ("permanent-redirect", "https://b.test", "/"),
    ("proxy-redirect-from", "/", "/"),
    ("proxy-cookie-path", "~^(.*)$ $1$uri", "/"),
    ("session-cookie-path", "$uri", "/"),
    (
        "configuration-snippet",
        "rewrite /a/([^/]+) /b/$1 redirect;",
        "/",
    ),
    (
        "configuration-snippet",
        "rewrite /a/([^/]+) https://b.test/$1 permanent;",
        "/",
    ),
    (
        "configuration-snippet",
        "rewrite ^([^?]*)$ https://b.test$1? permanent;",
        "/",
    ),
    (
        "configuration-snippet",
        "rewrite ^ https://b.test$request_uri? permanent;",
        "/",
    ),
    (
        "configuration-snippet",
        "return 302 https://b.test$request_uri;",
        "/",
    ),
    (
        "configuration-snippet",
        "proxy_set_header X-Uri $uri; more_set_headers \"X-Agent: $http_user_agent\";",
        "/",
    ),
    (
        "configuration-snippet",
        "proxy_set_header X-Arg $arg_a; proxy_set_header X-Target $request_uri;",
        "/",
    ),
    (
        "configuration-snippet",
        "more_set_headers \"X-Said: $request_uri $args $arg_a $cookie_a\"; add_header X-Arg $arg_a; add_header X-Target $request_uri;",
        "/",
    ),
];

/// Paths with ends of lines, in the ways that they are written.
const TARGETS: &[&str] = &[
    "/a/x%0d%0aX-Evil:%20a",
    "/a/x%0D%0AX-Evil:%20a?a=%0d%0aX-Evil:%20a",
    "/a/x%0aX-Evil:%20a",
    "/a/x%0dX-Evil:%20a",
    "/a/%0d%0a%0d%0aX-Evil:%20a",
    "/a/x%250d%250aX-Evil:%20a",
];

fn objects() -> Vec<Value> {
    let all = INTO_HEADERS.iter().enumerate();
    let of = all.map(|(number, (annotation, value, path))| {
        let name = format!("h{number}");
        let ingress = match *annotation {
            // Only where a path is rewritten.
            "x-forwarded-prefix" => Ingress::new(OWNER, &name).annotation("rewrite-target", "/c"),
            _ => Ingress::new(OWNER, &name),
        };
        ingress
            .annotation(annotation, value)
            .annotation("affinity", "cookie")
            .annotation("ssl-redirect", "false")
            .host(&format!("{name}.test"))
            .typed_path("ImplementationSpecific", path, "web", 80)
            .to_json()
    });
    let open = Ingress::new(OWNER, "open").host("open.test");
    let open = open.path("/", "web", 80).to_json();
    of.chain([open, snippets_permitted()]).collect()
}

async fn client_text_ends_no_header_line(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("all.yaml", &objects())?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    sluice.wait_for_status("open.test", "/", 200).await?;
    for (number, setting) in INTO_HEADERS.iter().enumerate() {
        let host = format!("h{number}.test");
        for target in TARGETS {
            let before = tenants.received.len();
            let request = Request::get(&host, target).header("user-agent", "a\tb");
            let answer = http::send(sluice.http(), &request).await?;
            let what = || format!("{setting:?}: {target}: {answer:?}");
            ensure!(answer.header("x-evil").is_none(), "{}", what());
            let is_line = |value: &str| !value.chars().any(|c| matches!(c, '\r' | '\n' | '\0'));
            let mut headers = answer.headers.iter();
            ensure!(headers.all(|(_, value)| is_line(value)), "{}", what());
            for received in tenants.received.since(before) {
                ensure!(
                    received.header("x-evil").is_none(),
                    "{}: {received:?}",
                    what()
                );
            }
        }
    }
    sluice.stop()
}
