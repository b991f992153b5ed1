//! R6: `X-Forwarded-Prefix` with captured groups says what the path has, whatever a client says and however its request goes on.

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(clients_cannot_forge_a_captured_prefix);

const FORGED: &str = "/forged";

/// Hosts with settings of filters that come before or after, and that look up the route again.
const CASES: &[(&str, &[(&str, &str)])] = &[
    ("plain", &[]),
    ("large", &[("proxy-body-size", "8m")]),
    (
        "limited",
        &[("limit-rps", "1000"), ("limit-connections", "100")],
    ),
    ("allowed", &[("whitelist-source-range", "127.0.0.0/8")]),
    ("asked", &[("auth-url", "http://web.owner.svc/")]),
    ("errors", &[("custom-http-errors", "503")]),
    ("main", &[]),
];

fn rewriting(name: &str) -> Ingress {
    Ingress::new(OWNER, name)
        .annotation("use-regex", "true")
        .annotation("rewrite-target", "/to/$3")
        .annotation("x-forwarded-prefix", "/$1$4")
        .annotation("ssl-redirect", "false")
}

fn objects() -> Vec<Value> {
    const PATH: &str = "/([a-z]*[0-9])(/|$)(.*)()";
    let of = |ingress: Ingress, name: &str| {
        let ingress = ingress.host(&format!("{name}.test"));
        ingress.typed_path("ImplementationSpecific", PATH, "web", 80)
    };
    let cases = CASES.iter().map(|(name, annotations)| {
        let ingress = annotations
            .iter()
            .fold(rewriting(name), |ingress, (name, value)| {
                ingress.annotation(name, value)
            });
        of(ingress, name).to_json()
    });
    let canary = Ingress::new(OWNER, "second")
        .annotation("canary", "true")
        .annotation("canary-by-header", "x-canary");
    cases.chain([of(canary, "main").to_json()]).collect()
}

/// The ways of a request, all of `/shop1/a` or of a path that is no more than `/1`.
fn requests(host: &str) -> Vec<(Request, &'static str)> {
    let get = |target: &str| {
        Request::get(host, target)
            .header("X-Forwarded-Prefix", FORGED)
            .header("x-forwarded-prefix", FORGED)
            .header("x-envoy-original-path", "/evil1/a")
            .header("x-sluice-captured", "/evil1/a")
            .header("x-sluice-path", "/evil1/a")
    };
    let posted = Request {
        method: "POST".to_owned(),
        ..get("/shop1/a?b=/evil1/c").body("a body")
    };
    vec![
        (get("/shop1/a"), "/shop1"),
        (get("/shop1"), "/shop1"),
        (get("/shop1?/evil1/"), "/shop1"),
        (get("/sho%701/a%2fb"), "/shop1"),
        (get("/x/..%2fshop1/a"), "/shop1"),
        (get("/1/a"), "/1"),
        (get("/shop1/a").header("x-canary", "always"), "/shop1"),
        (posted, "/shop1"),
    ]
}

async fn clients_cannot_forge_a_captured_prefix(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.write("all.yaml", &objects())?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status("main.test", "/shop1", 200).await?;
    for (name, _) in CASES {
        let host = format!("{name}.test");
        for (request, expected) in requests(&host) {
            let before = tenants.received.len();
            let answer = http::send(sluice.http(), &request).await?;
            ensure!(answer.status == 200, "{plane:?}: {request:?}: {answer:?}");
            let received = tenants.received.since(before);
            let to_pod = received
                .iter()
                .find(|received| received.path.starts_with("/to/"));
            let said = to_pod.and_then(|received| received.header("x-forwarded-prefix"));
            ensure!(
                said.as_deref() == Some(expected),
                "{plane:?}: {request:?}: {received:?}"
            );
            // To nginx it is a name like any other.
            let is_ours = |name: &str| plane != Plane::Nginx && name.starts_with("x-sluice-");
            ensure!(
                to_pod.is_some_and(|received| !received.headers.keys().any(|name| is_ours(name))),
                "{plane:?}: {request:?}: {received:?}"
            );
        }
    }
    sluice.stop()
}
