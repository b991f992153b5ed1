//! PCRE goes back and tries again. A pattern that makes it do so for ever costs its own requests, and opens nothing.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::proc;
use sluice_tests::sluice::Sluice;

use super::{ensure_changes_are_accepted, neighbour};
use crate::setup::{FOREIGN, OWNER, Plane, Tenants, on_every_plane};

on_every_plane!(
    backtracking_request_is_cheap_and_opens_nothing,
    realistic_patterns_are_not_aborted
);

/// Patterns that are tried in exponentially or polynomially many ways, each with a path that none of them takes.
fn hostile_patterns() -> Vec<(&'static str, String)> {
    vec![
        ("/(a+)+$", format!("/{}!", "a".repeat(60))),
        ("/(a|a)*$", format!("/{}!", "a".repeat(60))),
        ("/(a|aa)+$", format!("/{}!", "a".repeat(60))),
        ("/(.*)(.*)(.*)(.*)(.*)x$", format!("/{}", "a".repeat(2000))),
        ("/.*[^x]*x$", format!("/{}", "a".repeat(7000))),
        ("/b|c(a*a*)*d", format!("/{}", "caa".repeat(2000))),
        ("/([a-z]+)*[0-9]", format!("/{}", "a".repeat(3000))),
    ]
}

/// The same of what RE2 does not know.
fn hostile_lookaround() -> Vec<(&'static str, String)> {
    vec![
        ("/(?=(a+)+$)b", format!("/{}!", "a".repeat(60))),
        (r"/((a+)+)\1$(?!b)", format!("/{}!", "a".repeat(60))),
        ("/(?=(a|a)*$)((?!b)a)*+", format!("/{}!", "a".repeat(60))),
        ("/(?!.*.*.*.*x).*.*.*x", format!("/{}", "a".repeat(2000))),
        (r"/(?<!b)(a*)*\1+b", format!("/{}", "a".repeat(7000))),
    ]
}

/// Hostile requests of each kind.
const REPETITIONS: u32 = 10;
/// CPU time of the data plane for one of them: a hundred times of what it takes, a hundredth of what it took.
const MAX_CPU_TIME: Duration = Duration::from_millis(200);

async fn backtracking_request_is_cheap_and_opens_nothing(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.ingress(&neighbour("own.test"))?;
    let mut paths = Vec::new();
    let hostile = hostile_patterns().into_iter().chain(hostile_lookaround());
    for (number, (pattern, path)) in hostile.enumerate() {
        let host = format!("hostile-{number}.test");
        // What is closed comes first, and everything else is open.
        let ingress = Ingress::new(FOREIGN, &host).annotation("use-regex", "true");
        let closed = ingress
            .annotation("whitelist-source-range", "192.0.2.1")
            .host(&host)
            .path(pattern, "web", 80);
        tenants.manifests.ingress(&closed)?;
        paths.push((host, path));
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    let before = cpu_time(&sluice);
    for (host, path) in &paths {
        for _ in 0..REPETITIONS {
            let answer = sluice.get(host, path).await?;
            // Closed like all of the host, or given up; nothing else is there to take it.
            ensure!(
                [403, 500].contains(&answer.status),
                "{host}: {}",
                answer.status
            );
            ensure!(sluice.get("own.test", "/").await?.pod() == Some(OWNER));
        }
    }
    let count = REPETITIONS * u32::try_from(paths.len())?;
    let each = (cpu_time(&sluice) - before) / count;
    ensure!(
        each < MAX_CPU_TIME,
        "{each:?} of CPU time for each of {count} hostile requests"
    );
    ensure_changes_are_accepted(&sluice, &tenants).await?;
    sluice.stop()
}

/// CPU time of the data plane.
fn cpu_time(sluice: &Sluice) -> Duration {
    let children = proc::children(sluice.pid());
    let all = children
        .iter()
        .copied()
        .chain(children.iter().flat_map(|child| proc::children(*child)));
    all.filter_map(|pid| proc::cpu_time(pid).ok()).sum()
}

/// A pattern whose comparison is given up is not one that does not match: nothing behind it takes the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_match_in_nginx_falls_through_to_no_other_path() -> Result<()> {
    let tenants = Tenants::start().await?;
    let guarded = Ingress::new(OWNER, "guarded").annotation("use-regex", "true");
    let guarded = guarded
        .annotation("whitelist-source-range", "192.0.2.1")
        .host("own.test");
    tenants
        .manifests
        .ingress(&guarded.path("/admin/([a-z]+)*[0-9]", "web", 80))?;
    tenants.manifests.ingress(
        &Ingress::new(OWNER, "open")
            .host("own.test")
            .path("/", "web", 80),
    )?;
    let sluice = Plane::Nginx.options(&tenants.manifests).start().await?;
    ensure!(sluice.get("own.test", "/admin/a1").await?.status == 403);
    ensure!(
        sluice.get("own.test", "/admin/a").await?.pod() == Some(OWNER),
        "the pattern does not take it"
    );
    for length in [100, 1000, 7000] {
        let answer = sluice
            .get("own.test", &format!("/admin/{}!", "a".repeat(length)))
            .await?;
        ensure!(answer.status == 500, "{length}: {}", answer.status);
    }
    sluice.stop()
}

/// nginx's `map` takes a comparison that was given up for one that did not match.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborted_match_in_nginx_does_not_bypass_a_block_list() -> Result<()> {
    let tenants = Tenants::start().await?;
    tenants.manifests.ingress(&neighbour("own.test"))?;
    let data = serde_json::json!({ "block-user-agents": "~*(x+x+)+[yz],bad" });
    tenants.manifests.object(&serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": OWNER, "name": "settings" }, "data": data,
    }))?;
    let flags = ["--configmap", "owner/settings"].map(str::to_owned).into();
    let sluice = Plane::Nginx
        .options(&tenants.manifests)
        .arguments(flags)
        .start()
        .await?;
    let status = async |agent: &str| -> Result<u16> {
        let request = Request::get("own.test", "/").header("user-agent", agent);
        Ok(http::send(sluice.http(), &request).await?.status)
    };
    let endless = "x".repeat(3000);
    for (agent, expected) in [
        ("good", 200),
        ("", 200),
        ("bad", 403),
        ("xxy", 403),
        (&endless, 403),
    ] {
        ensure!(
            status(agent).await? == expected,
            "{agent:.20}: expected {expected}"
        );
    }
    ensure!(
        sluice.get("own.test", "/").await?.status == 200,
        "without a user agent"
    );
    sluice.stop()
}

/// Patterns that backtrack a lot, and paths as long as people have them.
async fn realistic_patterns_are_not_aborted(plane: Plane) -> Result<()> {
    let tenants = Tenants::start().await?;
    let long = format!("/{}", "segment-of-a-path/".repeat(12));
    for (number, pattern) in [
        "/(.*)/(.*)",
        "/(.*)/(.*)/(.*)$",
        "/([^/]+)/([^/]+)(/|$)(.*)",
        "/(.*?)/(.*?)/(.*)",
        "/(?:[a-z-]+/)*",
    ]
    .iter()
    .enumerate()
    {
        let ingress = Ingress::new(OWNER, &format!("p{number}")).annotation("use-regex", "true");
        tenants.manifests.ingress(
            &ingress
                .host(&format!("p{number}.test"))
                .path(pattern, "web", 80),
        )?;
    }
    let sluice = plane.options(&tenants.manifests).start().await?;
    for number in 0..5 {
        let answer = sluice.get(&format!("p{number}.test"), &long).await?;
        ensure!(answer.pod() == Some(OWNER), "{number}: {}", answer.status);
    }
    sluice.stop()
}
