//! The model by itself: configurations that no Ingress can say, written by hand and played on a real Envoy and a real nginx.
//!
//! ```text
//!   site.rs  ir::Config --sluice_xds, sluice_plugin--> envoy.rs ---+
//!                       --sluice_nginx, sluice_plugin-> nginx.rs --+--> requests of main.rs
//! ```
//!
//! Nothing of Kubernetes is here: no object, no translation, no controller.

mod envoy;
mod nginx;
mod routes;
mod site;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde_json::Value;
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request, Response};

use envoy::RunningEnvoy;
use nginx::RunningNginx;
use site::{HOST, Site};

#[tokio::test(flavor = "multi_thread")]
async fn envoy_serves_what_the_model_says() -> Result<()> {
    let site = Site::start().await?;
    let mut envoy = RunningEnvoy::start(&site).await?;
    let http = envoy.http();
    matches_have_precedence(http).await?;
    backends_share_by_weight(http).await?;
    each_backend_has_filters_of_its_own(http).await?;
    everywhere(&site, http).await?;
    listeners_have_hosts_and_certificates_of_their_own(&site).await?;
    envoy.takes_another(&site).await?;
    envoy.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn nginx_serves_what_it_can_of_the_model_and_names_the_rest() -> Result<()> {
    let site = Site::start().await?;
    let nginx = RunningNginx::start(&site).await?;
    backends_share_by_weight(nginx.http()).await?;
    everywhere(&site, nginx.http()).await?;
    what_nginx_cannot_match_is_reported(&nginx).await?;
    nginx.stop()
}

/// Behaviour of both data planes.
async fn everywhere(site: &Site, http: SocketAddr) -> Result<()> {
    headers_are_set_added_and_removed(http).await?;
    paths_are_rewritten(http).await?;
    redirects_change_parts_of_a_url(http).await?;
    every_mirror_gets_its_part(site, http).await
}

async fn ask(http: SocketAddr, request: Request) -> Result<Response> {
    http::send(http, &request).await
}

async fn service(http: SocketAddr, request: Request) -> Result<String> {
    let answer = ask(http, request).await?;
    ensure!(answer.status == 200, "{answer:?}");
    Ok(answer.json()?["service"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

async fn matches_have_precedence(http: SocketAddr) -> Result<()> {
    let get = |target: &str| Request::get(HOST, target);
    let asked = [
        (get("/match"), "plain"),
        (get("/match/exact"), "exact"),
        (Request::new("DELETE", HOST, "/match"), "method"),
        (get("/match").header("x-tier", "gold"), "header"),
        (get("/match").header("X-Tier", "silver-7"), "pattern"),
        (get("/match").header("x-tier", "golden"), "plain"),
        (get("/match?v=2&x=1"), "query"),
        (get("/match?v=20"), "plain"),
        // A method counts more than headers, headers more than the query.
        (
            Request::new("DELETE", HOST, "/match").header("x-tier", "gold"),
            "method",
        ),
        (get("/match?v=2").header("x-tier", "gold"), "header"),
        (get("/match/exact?v=2").header("x-tier", "gold"), "exact"),
    ];
    for (request, expected) in asked {
        let shown = format!("{request:?}");
        let got = service(http, request).await?;
        ensure!(got == expected, "{shown}: expected {expected}, got {got}");
    }
    Ok(())
}

async fn backends_share_by_weight(http: SocketAddr) -> Result<()> {
    const REQUESTS: u32 = 600;
    let mut hits: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..REQUESTS {
        *hits
            .entry(service(http, Request::get(HOST, "/weights")).await?)
            .or_default() += 1;
    }
    // Five standard deviations, or one failure in a million runs.
    for (name, part) in [("five", 0.5), ("three", 0.3), ("two", 0.2)] {
        let (expected, got) = (
            f64::from(REQUESTS) * part,
            hits.get(name).copied().unwrap_or(0),
        );
        let tolerance = 5.0 * (expected * (1.0 - part)).sqrt();
        ensure!(
            (f64::from(got) - expected).abs() <= tolerance,
            "{name}: {hits:?}"
        );
    }
    Ok(())
}

async fn each_backend_has_filters_of_its_own(http: SocketAddr) -> Result<()> {
    for _ in 0..60 {
        let answer = ask(
            http,
            Request::get(HOST, "/weights").header("x-backend", "client"),
        )
        .await?;
        let received = answer.json()?;
        let service = received["service"].as_str().unwrap_or_default();
        let told = &received["headers"]["x-backend"];
        // `two` takes the header away, the others set it.
        match service {
            "two" => ensure!(told.is_null(), "{received}"),
            service => ensure!(told[0] == service, "{received}"),
        }
        ensure!(answer.header("x-served-by") == Some(service), "{answer:?}");
    }
    Ok(())
}

async fn headers_are_set_added_and_removed(http: SocketAddr) -> Result<()> {
    let request = Request::get(HOST, "/headers")
        .header("x-set", "client")
        .header("x-add", "client")
        .header("x-remove", "client");
    let answer = ask(http, request).await?;
    let received = answer.json()?;
    let values = |name: &str| values(&received, name);
    ensure!(values("x-set") == "route", "{received}");
    ensure!(values("x-add") == "client, route", "{received}");
    ensure!(values("x-new") == "route", "{received}");
    ensure!(values("x-remove").is_empty(), "{received}");
    ensure!(answer.header("x-answer") == Some("route"), "{answer:?}");
    ensure!(answer.header("x-pod").is_none(), "{answer:?}");
    let alone = ask(http, Request::get(HOST, "/headers")).await?.json()?;
    ensure!(self::values(&alone, "x-add") == "route", "{alone}");
    Ok(())
}

fn values(received: &Value, name: &str) -> String {
    let values = received["headers"][name].as_array();
    let values = values.into_iter().flatten().filter_map(Value::as_str);
    values.collect::<Vec<_>>().join(", ")
}

async fn paths_are_rewritten(http: SocketAddr) -> Result<()> {
    let rewritten = [
        ("/old", "/new", ""),
        ("/old/", "/new/", ""),
        ("/old/a/b?x=1", "/new/a/b", "x=1"),
        ("/bare/a", "/a", ""),
        ("/bare", "/", ""),
        ("/full/a/b?x=1", "/fixed", "x=1"),
    ];
    for (asked, path, query) in rewritten {
        let received = ask(http, Request::get(HOST, asked)).await?.json()?;
        ensure!(received["path"] == path, "{asked}: {received}");
        let told = received["query"].as_str().unwrap_or_default();
        ensure!(told == query, "{asked}: {received}");
    }
    Ok(())
}

async fn redirects_change_parts_of_a_url(http: SocketAddr) -> Result<()> {
    let here = format!("http://{HOST}");
    let redirects = [
        (
            "/moved/a?x=1",
            308,
            "https://other.test:8443/there/a?x=1".to_owned(),
        ),
        ("/moved", 308, "https://other.test:8443/there".to_owned()),
        ("/replaced/a?x=1", 302, format!("{here}/whole?x=1")),
        (
            "/elsewhere/a?x=1",
            301,
            "http://other.test/elsewhere/a?x=1".to_owned(),
        ),
    ];
    for (asked, status, location) in redirects {
        let answer = ask(http, Request::get(HOST, asked)).await?;
        ensure!(answer.status == status, "{asked}: {answer:?}");
        ensure!(
            answer.header("location") == Some(&location),
            "{asked}: {answer:?}"
        );
    }
    Ok(())
}

async fn every_mirror_gets_its_part(site: &Site, http: SocketAddr) -> Result<()> {
    const REQUESTS: usize = 100;
    let before = [site.all_copies.len(), site.half_of_copies.len()];
    for _ in 0..REQUESTS {
        let got = service(http, Request::get(HOST, "/mirrored")).await?;
        ensure!(got == "plain", "a copy answered: {got}");
    }
    let all = async || (site.all_copies.len() - before[0] >= REQUESTS).then_some(());
    sluice_tests::wait::until("every copy", all).await?;
    let half = site.half_of_copies.len() - before[1];
    ensure!(
        (25..=75).contains(&half),
        "{half} of {REQUESTS} where a half is copied"
    );
    Ok(())
}

async fn listeners_have_hosts_and_certificates_of_their_own(site: &Site) -> Result<()> {
    let mut secure = Connection::open_tls(site.secure.addr(), "secure.test").await?;
    ensure!(secure.certificate() == Some(site.certificate.der.as_slice()));
    let got = secure.send(&Request::get("secure.test", "/")).await?;
    ensure!(got.json()?["service"] == "five", "{got:?}");
    let mut named = Connection::open_tls(site.secure.addr(), "named.test").await?;
    ensure!(named.certificate() == Some(site.named_certificate.der.as_slice()));
    let got = named.send(&Request::get("named.test", "/")).await?;
    ensure!(got.json()?["service"] == "three", "{got:?}");
    let plain = |host, target| http::get(site.plain.addr(), host, target);
    ensure!(plain("plain.test", "/").await?.json()?["service"] == "two");
    // Hosts of one listener are not those of another.
    ensure!(plain(HOST, "/match").await?.status == 404);
    ensure!(plain("secure.test", "/").await?.status == 404);
    Ok(())
}

async fn what_nginx_cannot_match_is_reported(nginx: &RunningNginx) -> Result<()> {
    let reports = nginx.reports().join("\n");
    let expected = [
        "model.test/match method: matches on methods, headers or query parameters",
        "model.test/match header: matches on methods, headers or query parameters",
        "model.test/match query: matches on methods, headers or query parameters",
        "model.test/weights: header filters of one of several backends",
        "listener plain: a port of its own",
        "listener secure: a port of its own",
    ];
    for part in expected {
        ensure!(reports.contains(part), "{part}: expected in\n{reports}");
    }
    // A route that says less takes the requests, unless there was access control.
    let gold = Request::get(HOST, "/match").header("x-tier", "gold");
    ensure!(service(nginx.http(), gold).await? == "plain");
    let guarded = ask(nginx.http(), Request::get(HOST, "/guarded")).await?;
    ensure!(guarded.status == 503, "{guarded:?}");
    Ok(())
}
