//! R6: a guarded path whose pattern takes a backtracking engine is compared before whatever is open behind it, however the path is
//! written and whatever the client says; where the steps are used up, nothing behind it takes the request.

use anyhow::{Result, ensure};
use sluice_filter_core::path_patterns::{route_name, tag};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;

use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    patterns_with_steps_back_guard_what_they_take,
    without_steps_no_path_behind_a_pattern_is_taken
);

const GUARDED: &str = r"/(?:v[0-9]/)?([a-z]+)/\1(?!/public)";
const HOST: &str = "own.test";

fn ingress(namespace: &str, name: &str) -> Ingress {
    Ingress::new(namespace, name).host(HOST)
}

fn guarded(pattern: &str) -> Ingress {
    let ingress = ingress(OWNER, "guarded").annotation("use-regex", "true");
    let ingress = ingress.annotation("whitelist-source-range", "192.0.2.1");
    ingress.typed_path("ImplementationSpecific", pattern, "web", 80)
}

/// Requests of which nothing has to reach a pod.
fn closed() -> Vec<Request> {
    let route = route_name([GUARDED].into_iter());
    let forged = ["-", "!/a", "/b"].map(|end| format!("{}{end}", tag(&route)));
    let get = |path: &str| Request::get(HOST, path);
    let written = [
        "/ab/ab",
        "/AB/aB",
        "/v1/ab/ab",
        "/%61b/ab",
        "/ab%2fab",
        "//ab//ab",
        "/x/../ab/ab",
        "/x/..%2fab/ab",
        "/ab/ab?x=/public",
        "/ab/ab/x/public",
        "/ab/abc",
    ];
    let mut all: Vec<Request> = written.into_iter().map(get).collect();
    for forged in forged {
        let request = get("/ab/ab")
            .header("x-sluice-pattern", &forged)
            .header("X-Sluice-Pattern", &forged)
            .header("x-sluice-group-1", "evil")
            .header("x-sluice-path", "/ab/cd");
        all.push(request);
    }
    all
}

async fn patterns_with_steps_back_guard_what_they_take(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.ingress(&guarded(GUARDED))?;
    tenants
        .manifests
        .ingress(&ingress(OWNER, "open").path("/", "web", 80))?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status(HOST, "/ab/cd", 200).await?;
    for request in closed() {
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.status == 403, "{request:?}: {answer:?}");
    }
    // A name in capital letters is one that Envoy finds in scopes when it is too late to compare.
    let answer = sluice.get("OWN.test", "/ab/ab").await?;
    ensure!([403, 500].contains(&answer.status), "{answer:?}");
    for path in [
        "/ab/cd",
        "/ab/ab/public",
        "/%61b/ab/public",
        "/ab",
        "/?/ab/ab",
    ] {
        let before = tenants.received.len();
        let request = Request::get(HOST, path).header("x-sluice-group-1", "evil");
        let answer = http::send(sluice.http(), &request).await?;
        ensure!(answer.pod() == Some(OWNER), "{path}: {answer:?}");
        let received = tenants.received.since(before);
        // To nginx it is a name like any other.
        let is_ours = |name: &str| plane != Plane::Nginx && name.starts_with("x-sluice-");
        let mut names = received.iter().flat_map(|received| received.headers.keys());
        ensure!(!names.any(|name| is_ours(name)), "{path}: {received:?}");
    }
    sluice.stop()
}

async fn without_steps_no_path_behind_a_pattern_is_taken(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants
        .manifests
        .ingress(&guarded(r"/(?=.*([a-z]+)*[0-9])(?!public)(.+)\2?"))?;
    let open = ingress(OWNER, "open").path("/", "web", 80);
    tenants.manifests.ingress(&open)?;
    let foreign = ingress(FOREIGN, "foreign").path("/foreign", "web", 80);
    tenants.manifests.ingress(&foreign)?;
    let sluice = plane.options(&tenants.manifests).start().await?;
    sluice.wait_for_status(HOST, "/foreign", 200).await?;
    ensure!(sluice.get(HOST, "/a1").await?.status == 403);
    ensure!(sluice.get(HOST, "/public1").await?.pod() == Some(OWNER));
    ensure!(sluice.get(HOST, "/a").await?.pod() == Some(OWNER));
    for length in [100, 1000, 7000] {
        let path = format!("/{}!", "a".repeat(length));
        let answer = sluice.get(HOST, &path).await?;
        ensure!(answer.status == 500, "{length}: {answer:?}");
        // What comes before the pattern is as it was.
        let answer = sluice.get(HOST, &format!("/foreign{path}")).await?;
        ensure!(answer.pod() == Some(FOREIGN), "{length}: {answer:?}");
    }
    sluice.stop()
}
