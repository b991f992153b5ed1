//! Canaries: the split by weight within its binomial bounds, and rules that are certain.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Network;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};

const REQUESTS: u64 = 1_000;

/// The site with a canary of one pod, `new-0`.
async fn with_canary(
    canary: impl FnOnce(Ingress) -> Ingress,
) -> Result<(Fixture, Vec<Echo>, Network)> {
    let fixture = Fixture::start(2, 2).await?;
    let network = Network::reserve()?;
    let new = Echo::start_all("new", &network.pods(1)).await?;
    let addrs: Vec<SocketAddr> = new.iter().map(Echo::addr).collect();
    fixture.manifests.service("default", "new", 80, &addrs)?;
    let ingress = Ingress::new("default", "canary")
        .host(HOST)
        .path("/", "new", 80)
        .annotation("canary", "true");
    fixture.manifests.ingress(&canary(ingress))?;
    Ok((fixture, new, network))
}

#[tokio::test]
async fn canary_receives_its_weight_of_requests() -> Result<()> {
    let (fixture, _new, _network) =
        with_canary(|ingress| ingress.annotation("canary-weight", "20")).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let load = Load::new(sluice.http(), page())
        .connections(2)
        .max_requests(REQUESTS);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(tally.failed() == 0 && tally.total() == REQUESTS, "{tally}");
    let (taken, expected) = (tally.pod("new-0") as f64, REQUESTS as f64 * 0.2);
    let bound = 5.0 * (REQUESTS as f64 * 0.2 * 0.8).sqrt();
    ensure!(
        (taken - expected).abs() <= bound,
        "expected {expected} within {bound:.0}: {tally}"
    );
    ensure!(
        tally.pod("web-0").abs_diff(tally.pod("web-1")) <= tally.total() / 10,
        "{tally}"
    );
    sluice.stop()
}

#[tokio::test]
async fn canary_header_and_cookie_take_precedence_over_weight() -> Result<()> {
    let rules = |ingress: Ingress| {
        let ingress = ingress
            .annotation("canary-by-header", "X-Canary")
            .annotation("canary-by-cookie", "beta");
        ingress.annotation("canary-weight", "0")
    };
    let (fixture, _new, _network) = with_canary(rules).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    for (header, value, is_canary) in [
        ("x-canary", "always", true),
        ("x-canary", "never", false),
        ("x-canary", "perhaps", false),
        ("cookie", "beta=always", true),
        ("cookie", "beta=never", false),
        ("x-sluice-cluster", "default/new/80", false),
        ("x-sluice-endpoint", "127.0.0.1:1", false),
    ] {
        let response = http::send(sluice.http(), &page().header(header, value)).await?;
        let pod = response.pod().map(str::to_owned);
        ensure!(
            (pod.as_deref() == Some("new-0")) == is_canary,
            "{header}: {value}: {pod:?}"
        );
    }
    sluice.stop()
}

async fn always_goes_to(sluice: &Sluice, request: &Request, pod: &str) -> Result<()> {
    for _ in 0..10 {
        let response = http::send(sluice.http(), request).await?;
        let got = response.pod();
        ensure!(got == Some(pod), "{request:?}: {got:?}");
    }
    Ok(())
}

#[tokio::test]
async fn several_canaries_follow_their_own_rules() -> Result<()> {
    let (fixture, _new, network) =
        with_canary(|ingress| ingress.annotation("canary-weight", "30")).await?;
    let addrs = network.pods(3);
    let mut pods = Vec::new();
    for (service, addr) in ["eu", "beta"].into_iter().zip(&addrs[1..]) {
        pods.extend(Echo::start_all(service, &[*addr]).await?);
        fixture
            .manifests
            .service("default", service, 80, &[*addr])?;
    }
    let canary = |service| {
        let ingress = Ingress::new("default", service)
            .host(HOST)
            .path("/", service, 80);
        ingress.annotation("canary", "true")
    };
    let by_header = canary("eu").annotation("canary-by-header", "x-region");
    fixture
        .manifests
        .ingress(&by_header.annotation("canary-by-header-value", "eu"))?;
    fixture
        .manifests
        .ingress(&canary("beta").annotation("canary-by-cookie", "beta"))?;
    fixture.manifests.ingress(
        &Ingress::new("default", "new")
            .host("new.test")
            .path("/", "new", 80),
    )?;
    let sluice = Sluice::start(&fixture.manifests).await?;

    let (eu, beta) = (
        page().header("x-region", "eu"),
        page().header("cookie", "beta=always"),
    );
    let both = eu.clone().header("cookie", "beta=always");
    for (request, pod) in [(&eu, "eu-0"), (&beta, "beta-0"), (&both, "eu-0")] {
        always_goes_to(&sluice, request, pod).await?;
    }
    let load = Load::new(sluice.http(), page())
        .connections(2)
        .max_requests(REQUESTS);
    let tally = load.run_for(wait::LIMIT).await?;
    let (taken, expected) = (tally.pod("new-0") as f64, REQUESTS as f64 * 0.3);
    ensure!(
        (taken - expected).abs() <= 5.0 * (expected * 0.7).sqrt(),
        "{tally}"
    );
    ensure!(
        tally.pod("eu-0") + tally.pod("beta-0") == 0 && tally.failed() == 0,
        "{tally}"
    );
    let load = Load::new(sluice.http(), Request::get("new.test", "/")).max_requests(50);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(
        tally.pod("new-0") == 50,
        "where it is the main backend, it gets all: {tally}"
    );
    sluice.stop()
}
