//! Host and path choose the Service; the client chooses nothing else.

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;

use crate::fixture::{Fixture, HOST, ensure_even_spread, page};
use crate::scenarios::{body_limits, lookahead, lookaround, response_patterns, response_rewrite};

#[tokio::test]
async fn host_and_path_select_the_service() -> Result<()> {
    let (networks, manifests) = (
        (Network::reserve()?, Network::reserve()?),
        Manifests::new()?,
    );
    let shop = Echo::start_all("shop", &networks.0.pods(1)).await?;
    let api = Echo::start_all("api", &networks.1.pods(1)).await?;
    manifests.service("default", "shop", 80, &[shop[0].addr()])?;
    manifests.service("default", "api", 8080, &[api[0].addr()])?;
    let ingress = Ingress::new("default", "shop").host("shop.test");
    let ingress = ingress
        .path("/", "shop", 80)
        .path("/api", "api", 8080)
        .typed_path("Exact", "/only", "api", 8080);
    manifests.ingress(&ingress)?;
    let sluice = Sluice::start(&manifests).await?;

    let to = async |host: &str, path: &str| {
        anyhow::Ok(sluice.get(host, path).await?.pod().map(str::to_owned))
    };
    for (host, path, pod) in [
        ("shop.test", "/", Some("shop-0")),
        ("shop.test:8080", "/", Some("shop-0")),
        ("SHOP.test", "/x", Some("shop-0")),
        ("shop.test", "/api", Some("api-0")),
        ("shop.test", "/api/", Some("api-0")),
        ("shop.test", "/api/v1?q=/", Some("api-0")),
        ("shop.test", "/apis", Some("shop-0")),
        ("shop.test", "/only", Some("api-0")),
        ("shop.test", "/only/x", Some("shop-0")),
        ("other.test", "/", None),
    ] {
        let answered = to(host, path).await?;
        ensure!(
            answered.as_deref() == pod,
            "{host}{path}: answered by {answered:?}, expected {pod:?}"
        );
    }
    ensure!(sluice.get("other.test", "/").await?.status == 404);
    sluice.stop()
}

#[tokio::test]
async fn requests_spread_evenly_and_arrive_unchanged() -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    ensure_even_spread(sluice.http(), &[0, 1, 2]).await?;

    let request = Request::new("POST", HOST, "/a%20b/c?q=1&q=2")
        .header("x-test", "1")
        .body("hello");
    let seen = http::send(sluice.http(), &request).await?.json()?;
    for (field, value) in [
        ("method", "POST"),
        ("path", "/a%20b/c"),
        ("query", "q=1&q=2"),
        ("host", HOST),
        ("service", "web"),
    ] {
        ensure!(
            seen[field] == value,
            "{field}: expected {value:?}, got {seen}"
        );
    }
    ensure!(
        seen["body_bytes"] == 5 && seen["headers"]["x-test"][0] == "1",
        "{seen}"
    );
    sluice.stop()
}

/// Matching sees the normalised path, and the pod sees what was matched: a path that means one thing to the rules and
/// another to the application is how rules are bypassed. (ingress-nginx forwards the raw path.)
#[tokio::test]
async fn pod_receives_the_path_that_was_matched() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let paths = [
        ("/a//b", "/a/b"),
        ("/a/../b", "/b"),
        ("/a/%2e/b", "/a/b"),
        ("/a%2Fb", "/a%2Fb"),
        ("/a%20b", "/a%20b"),
    ];
    for (sent, expected) in paths {
        let seen = sluice.get(HOST, sent).await?.json()?;
        ensure!(
            seen["path"] == expected,
            "sent {sent}, the pod got {}",
            seen["path"]
        );
    }
    sluice.stop()
}

#[tokio::test]
async fn clients_cannot_choose_the_endpoint() -> Result<()> {
    let fixture = Fixture::start(3, 2).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    // web-2 runs but is no endpoint; web-0 is one.
    for pod in [2, 0] {
        let mut answered = Vec::new();
        for _ in 0..4 {
            let request = page().header("x-sluice-endpoint", &fixture.pods[pod].addr().to_string());
            let response = http::send(sluice.http(), &request).await?;
            let seen = response.json()?["headers"].to_string();
            ensure!(!seen.contains(":sluice"), "the pod saw {seen}");
            answered.extend(response.pod().map(str::to_owned));
        }
        answered.sort_unstable();
        ensure!(
            answered == ["web-0", "web-0", "web-1", "web-1"],
            "{answered:?}"
        );
    }
    sluice.stop()
}

#[tokio::test]
async fn ingress_is_added_and_removed_at_run_time() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    ensure!(sluice.get("late.test", "/").await?.status == 404);
    fixture.manifests.ingress(
        &Ingress::new("default", "late")
            .host("late.test")
            .path("/", "web", 80),
    )?;
    sluice.wait_for_status("late.test", "/", 200).await?;
    fixture.manifests.remove("ingress-default-late.yaml")?;
    sluice.wait_for_status("late.test", "/", 404).await?;
    ensure!(sluice.get(HOST, "/").await?.status == 200);
    sluice.stop()
}

#[tokio::test]
async fn proxy_redirect_and_cookie_rules_rewrite_responses() -> Result<()> {
    response_rewrite::rewrites_redirects_and_cookies("envoy", &[]).await
}

#[tokio::test]
async fn patterns_replace_in_responses_what_nginx_replaces() -> Result<()> {
    response_patterns::patterns_replace_the_same("envoy", &[]).await
}

#[tokio::test]
async fn patterns_replace_in_responses_what_nginx_replaces_in_route_scopes() -> Result<()> {
    response_patterns::patterns_replace_the_same("envoy", &["--scopes-from", "0"]).await
}

#[tokio::test]
async fn lookahead_excludes_texts_from_paths() -> Result<()> {
    lookahead::excludes_texts("envoy", &[]).await
}

#[tokio::test]
async fn lookahead_excludes_texts_from_paths_in_route_scopes() -> Result<()> {
    lookahead::excludes_texts("envoy", &["--scopes-from", "0"]).await
}

#[tokio::test]
async fn lookaround_and_possessives_are_as_in_pcre() -> Result<()> {
    lookaround::is_as_in_pcre("envoy", &[]).await
}

#[tokio::test]
async fn lookaround_and_possessives_are_as_in_pcre_in_route_scopes() -> Result<()> {
    lookaround::is_as_in_pcre("envoy", &["--scopes-from", "0"]).await
}

/// Two filters of ours see each request there, and one of them writes its answer anew.
#[tokio::test]
async fn proxy_redirect_and_cookie_rules_rewrite_responses_in_route_scopes() -> Result<()> {
    response_rewrite::rewrites_redirects_and_cookies("envoy", &["--scopes-from", "0"]).await
}

#[tokio::test]
async fn a_body_that_is_too_large_for_its_location_is_not_redirected() -> Result<()> {
    body_limits::of_redirects("envoy", "--scopes-from=100").await
}

#[tokio::test]
async fn a_body_that_is_too_large_for_its_location_is_not_redirected_in_route_scopes() -> Result<()>
{
    body_limits::of_redirects("envoy", "--scopes-from=0").await
}
