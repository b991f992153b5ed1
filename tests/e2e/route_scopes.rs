//! Each host in a scope of its own: what only then can go wrong. The acceptance cases are played in this way, too.

use anyhow::{Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::unix;

use crate::fixture::{Fixture, HOST};

/// The three kinds of hosts, and names that lead there.
const HOSTS: [(&str, &[&str]); 3] = [
    (
        "exact.test",
        &[
            "exact.test",
            "Exact.TEST",
            "exact.test:8080",
            "EXACT.test:8080",
        ],
    ),
    (
        "*.wild.test",
        &["a.wild.test", "A.Wild.test", "a.wild.test:8080"],
    ),
    (
        "",
        &[
            "other.test",
            "Other.test",
            "a.b.wild.test",
            "[::1]:8080",
            "_",
        ],
    ),
];

async fn start(fixture: &Fixture, from: &str) -> Result<Sluice> {
    Options::new(&fixture.manifests)
        .arguments(vec!["--scopes-from".into(), from.into()])
        .start()
        .await
}

fn ingress(host: &str, number: usize) -> Ingress {
    let ingress = Ingress::new("default", &format!("host-{number}"));
    let ingress = if host.is_empty() {
        ingress
    } else {
        ingress.host(host)
    };
    ingress.path("/", "web", 80)
}

/// A site with an Ingress for each kind of host.
async fn fixture_with_hosts(annotations: &[(&str, &str)]) -> Result<Fixture> {
    let fixture = Fixture::start(1, 1).await?;
    for (number, (host, _)) in HOSTS.into_iter().enumerate() {
        let ingress = ingress(host, number);
        let all = annotations.iter().fold(ingress, |ingress, (name, value)| {
            ingress.annotation(name, value)
        });
        fixture.manifests.ingress(&all)?;
    }
    Ok(fixture)
}

async fn all_answer(sluice: &Sluice, request: impl Fn(&str) -> Request, status: u16) -> Result<()> {
    for name in HOSTS.iter().flat_map(|(_, names)| *names) {
        let answer = http::send(sluice.http(), &request(name)).await?;
        ensure!(
            answer.status == status,
            "{name}: expected {status}, got {}",
            answer.status
        );
    }
    Ok(())
}

#[tokio::test]
async fn access_control_holds_for_every_spelling_of_a_host() -> Result<()> {
    let fixture = fixture_with_hosts(&[("whitelist-source-range", "10.1.2.3")]).await?;
    let sluice = start(&fixture, "0").await?;
    all_answer(&sluice, |host| Request::get(host, "/"), 403).await?;
    ensure!(fixture.pods[0].hits() == 0, "somebody got in");
    sluice.stop()
}

#[tokio::test]
async fn body_limit_is_per_location() -> Result<()> {
    let fixture = fixture_with_hosts(&[("proxy-body-size", "2m")]).await?;
    let sluice = start(&fixture, "0").await?;
    let body =
        |bytes: usize| move |host: &str| Request::new("POST", host, "/").body(vec![b'x'; bytes]);
    // More than the usual limit, and more than this one.
    all_answer(&sluice, body(1_500_000), 200).await?;
    all_answer(&sluice, body(3_000_000), 413).await?;
    sluice.stop()
}

#[tokio::test]
async fn redirects_need_no_endpoints() -> Result<()> {
    let fixture = fixture_with_hosts(&[("permanent-redirect", "http://there.test/")]).await?;
    fixture.endpoints(&[])?;
    let sluice = start(&fixture, "0").await?;
    all_answer(&sluice, |host| Request::get(host, "/"), 301).await?;
    sluice.stop()
}

#[tokio::test]
async fn unknown_path_is_not_served_by_another_host() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    fixture.manifests.ingress(
        &Ingress::new("default", "narrow")
            .host("narrow.test")
            .path("/only", "web", 80),
    )?;
    fixture.manifests.ingress(&ingress("", 0))?;
    let sluice = start(&fixture, "0").await?;
    for (host, path, status) in [
        ("narrow.test", "/only", 200),
        ("Narrow.test", "/only", 200),
        ("narrow.test", "/", 404),
        ("Narrow.test", "/", 404),
        ("wide.test", "/", 200),
    ] {
        let answer = sluice.get(host, path).await?;
        ensure!(
            answer.status == status,
            "{host}{path}: expected {status}, got {}",
            answer.status
        );
    }
    sluice.stop()
}

#[tokio::test]
async fn changing_a_host_keeps_rate_limit_counters_of_others() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let limited = Ingress::new("default", "limited")
        .host("limited.test")
        .path("/", "web", 80);
    fixture.manifests.ingress(
        &limited
            .annotation("limit-rpm", "1")
            .annotation("limit-burst-multiplier", "2"),
    )?;
    let sluice = start(&fixture, "0").await?;
    sluice.wait_for_status("limited.test", "/", 503).await?;
    fixture.manifests.ingress(&ingress("new.test", 7))?;
    sluice.wait_for_status("new.test", "/", 200).await?;
    ensure!(
        sluice.get("limited.test", "/").await?.status == 503,
        "its counter began anew"
    );
    sluice.stop()
}

#[tokio::test]
async fn switching_to_route_scopes_fails_no_request() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = start(&fixture, "4").await?;
    // Of the listener that was there before.
    let mut old = Connection::open(sluice.http()).await?;
    ensure!(old.send(&Request::get(HOST, "/")).await?.status == 200);
    for number in 0..4 {
        let host = format!("new-{number}.test");
        fixture.manifests.ingress(&ingress(&host, number))?;
        sluice.wait_for_status(&host, "/", 200).await?;
        sluice
            .wait_for_status(&host.to_uppercase(), "/", 200)
            .await?;
        ensure!(sluice.get(HOST, "/").await?.status == 200);
    }
    let stats = unix::get(
        &sluice.run_dir().join("envoy-admin.sock"),
        "/stats?filter=all_scopes",
    )
    .await?;
    ensure!(
        stats.lines().any(|line| line.ends_with(": 6")),
        "five hosts and the others: {stats:?}"
    );
    // It is told of hosts that are new, as long as its listener drains.
    let known = old.send(&Request::get("new-3.test", "/")).await?;
    ensure!(
        known.status == 200,
        "a new host on an old connection: {}",
        known.status
    );
    sluice.stop()
}
