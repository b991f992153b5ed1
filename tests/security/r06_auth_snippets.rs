//! R6: an `auth-snippet` that is served sets headers of the requests to the authentication service, in place of the client's, and
//! of no others. One that is not served, or that no service is asked for, guards as before: its paths are closed.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane, snippet_flags, snippets_permitted};

on_every_plane!(auth_snippet_sets_headers_of_the_auth_request_alone);

const URL: &str = "http://auth.owner.svc/verify";
const FORGED: &str = "forged";

/// A header that the service sees; `None`: none of that name.
type Seen = (&'static str, Option<&'static str>);

/// Snippets, and headers of the requests to the service.
const SERVED: &[(&str, &[Seen])] = &[
    (
        "proxy_set_header X-Scope tenant-1;\nproxy_set_header Host auth.test;",
        &[("x-scope", Some("tenant-1")), ("host", Some("auth.test"))],
    ),
    (
        "proxy_set_header X-Scope '';",
        &[("x-scope", None), ("x-other", Some(FORGED))],
    ),
    (
        "proxy_set_header X-Scope \"$request_method $host$request_uri\";",
        &[("x-scope", Some("GET s2.test/a?b=c"))],
    ),
];

/// Snippets that close their paths, each with what stands beside it.
const CLOSED: &[(&str, &[(&str, &str)])] = &[
    ("proxy_set_header X-Scope a;", &[]),
    (
        "proxy_set_header X-Scope a; proxy_set_header X-Scope b;",
        &[("auth-url", URL)],
    ),
    (
        "proxy_set_header X-Scope a;",
        &[("auth-url", URL), ("auth-proxy-set-headers", "headers")],
    ),
    ("deny all;", &[("auth-url", URL)]),
    (
        "proxy_set_header X-Scope $upstream_addr;",
        &[("auth-url", URL)],
    ),
    ("proxy_set_header X-Scope a", &[("auth-url", URL)]),
];

async fn auth_snippet_sets_headers_of_the_auth_request_alone(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let (_service, journal) = tenants.auth_service().await?;
    tenants.write("all.yaml", &objects())?;
    let options = plane.options(&tenants.manifests).arguments(snippet_flags());
    let sluice = options.start().await?;
    for (number, (snippet, expected)) in SERVED.iter().enumerate() {
        let host = format!("s{number}.test");
        sluice.wait_for_status(&host, "/", 200).await?;
        let (asked, received) = (journal.len(), tenants.received.len());
        let request =
            Request::get(&host, "/a?b=c").headers(&[("X-Scope", FORGED), ("X-Other", FORGED)]);
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.status == 200, "{snippet}: {answer:?}");
        let question = journal.since(asked).pop().context("nobody asked")?;
        for (name, value) in *expected {
            ensure!(
                question.header(name).as_deref() == *value,
                "{snippet}: {question:?}"
            );
        }
        let pod = tenants.received.since(received).pop().context("no pod")?;
        ensure!(
            pod.header("x-scope").as_deref() == Some(FORGED),
            "{snippet}: {pod:?}"
        );
    }
    for (number, (snippet, beside)) in CLOSED.iter().enumerate() {
        let answer = http::get(sluice.http(), &format!("c{number}.test"), "/").await?;
        ensure!(answer.status == 503, "{snippet} {beside:?}: {answer:?}");
    }
    sluice.stop()
}

/// An Ingress for each snippet, on a host of its own.
fn objects() -> Vec<Value> {
    let ingress = |name: &str, snippet: &str| {
        Ingress::new(OWNER, name)
            .annotation("auth-snippet", snippet)
            .host(&format!("{name}.test"))
            .path("/", "web", 80)
    };
    let mut objects = vec![snippets_permitted(), headers()];
    for (number, (snippet, _)) in SERVED.iter().enumerate() {
        objects.push(
            ingress(&format!("s{number}"), snippet)
                .annotation("auth-url", URL)
                .to_json(),
        );
    }
    for (number, (snippet, beside)) in CLOSED.iter().enumerate() {
        let closed = beside.iter().fold(
            ingress(&format!("c{number}"), snippet),
            |ingress, (name, value)| ingress.annotation(name, value),
        );
        objects.push(closed.to_json());
    }
    objects
}

fn headers() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": OWNER, "name": "headers"}, "data": {"X-Scope": "b"}})
}
