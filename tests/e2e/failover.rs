//! Retries: what one pod fails, the next candidate answers.

use anyhow::{Result, ensure};
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};
use crate::scenarios::uploads;
use crate::session_affinity::{new_clients, sticky_ingress};

const REQUESTS: u64 = 60;

async fn serve_all(sluice: &Sluice) -> Result<sluice_tests::tally::Tally> {
    let load = Load::new(sluice.http(), page())
        .connections(2)
        .max_requests(REQUESTS);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(tally.failed() == 0 && tally.total() == REQUESTS, "{tally}");
    Ok(tally)
}

#[tokio::test]
async fn refused_connections_fail_over_with_every_algorithm() -> Result<()> {
    let mut fixture = Fixture::start(3, 3).await?;
    fixture.pods[0].stop().await;
    for (annotation, value) in [
        ("load-balance", "round_robin"),
        ("load-balance", "ewma"),
        ("upstream-hash-by", "$request_uri"),
    ] {
        let ingress = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80);
        fixture
            .manifests
            .ingress(&ingress.annotation(annotation, value))?;
        let sluice = Sluice::start(&fixture.manifests).await?;
        let tally = serve_all(&sluice).await?;
        ensure!(tally.pod("web-0") == 0, "{tally}");
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test]
async fn http_503_is_retried_on_the_next_pod_when_configured() -> Result<()> {
    for (annotation, value) in [
        ("load-balance", "round_robin"),
        ("load-balance", "least_conn"),
        ("load-balance", "ewma"),
        ("load-balance", "peak_ewma"),
        ("upstream-hash-by", "$request_uri"),
        ("affinity", "cookie"),
    ] {
        let fixture = Fixture::start(3, 3).await?;
        let ingress = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80);
        let ingress = ingress.annotation("proxy-next-upstream", "error timeout http_503");
        fixture
            .manifests
            .ingress(&ingress.annotation(annotation, value))?;
        fixture.pods[0].script(Script::status(503));
        let sluice = Sluice::start(&fixture.manifests).await?;
        let requests = (0..REQUESTS)
            .map(|n| Request::get(HOST, &format!("/{n}")))
            .collect();
        let load = Load::of(sluice.http(), requests)
            .connections(2)
            .max_requests(REQUESTS);
        let tally = load.run_for(wait::LIMIT).await?;
        ensure!(
            tally.failed() == 0 && tally.total() == REQUESTS,
            "{value}: {tally}"
        );
        ensure!(
            tally.pod("web-0") == 0 && tally.pod("web-1") > 0 && tally.pod("web-2") > 0,
            "{value}: {tally}"
        );
        ensure!(
            fixture.pods[0].hits() > 0,
            "{value}: the failing pod was never tried"
        );
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test]
async fn retries_skip_ejected_pods() -> Result<()> {
    let fixture = Fixture::start(4, 4).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = ingress.annotation("proxy-next-upstream", "error timeout http_503");
    let ingress = ingress.annotation("proxy-next-upstream-tries", "2");
    let ingress = ingress.annotation("sluice.dev/eject-after", "2");
    fixture
        .manifests
        .ingress(&ingress.annotation("upstream-hash-by", "$request_uri"))?;
    fixture.pods[..2]
        .iter()
        .for_each(|pod| pod.script(Script::status(503)));
    let sluice = Sluice::start(&fixture.manifests).await?;
    let requests: Vec<Request> = (0..200)
        .map(|n| Request::get(HOST, &format!("/{n}")))
        .collect();
    let send_all = async || {
        Load::of(sluice.http(), requests.clone())
            .connections(1)
            .max_requests(200)
            .run_for(wait::LIMIT)
            .await
    };
    // Until both are known to fail, two tries may meet both of them.
    send_all().await?;
    let hits: Vec<u64> = fixture.pods[..2].iter().map(|pod| pod.hits()).collect();
    let tally = send_all().await?;
    ensure!(tally.failed() == 0 && tally.total() == 200, "{tally}");
    let after: Vec<u64> = fixture.pods[..2].iter().map(|pod| pod.hits()).collect();
    ensure!(
        hits == after,
        "an ejected pod was tried: {hits:?} became {after:?}"
    );
    sluice.stop()
}

#[tokio::test]
async fn session_moves_off_a_failing_pod_when_configured_and_stays() -> Result<()> {
    let mut fixture = Fixture::start(3, 3).await?;
    fixture.manifests.ingress(
        &sticky_ingress("persistent").annotation("session-cookie-change-on-failure", "true"),
    )?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let (mut client, home) = new_clients(sluice.http(), 1).await?.remove(0);
    let pod = fixture
        .pods
        .iter()
        .position(|pod| pod.name() == home)
        .unwrap_or_default();
    fixture.pods[pod].stop().await;
    let next = client.visit(sluice.http()).await?;
    ensure!(next != home, "{next}");
    for _ in 0..10 {
        ensure!(
            client.visit(sluice.http()).await? == next,
            "the session moved again"
        );
    }
    fixture.pods[pod].start_again().await?;
    ensure!(
        client.visit(sluice.http()).await? == next,
        "the session went back"
    );
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_go_to_the_pod_that_is_there() -> Result<()> {
    uploads::go_to_the_pod_that_is_there("envoy").await
}
