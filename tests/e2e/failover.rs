//! Retries: what one pod fails, the next candidate answers.

use anyhow::{Result, ensure};
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{HOST, Site, page};
use crate::session_affinity::{clients, sticky};

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
    let mut site = Site::start(3, 3).await?;
    site.pods[0].stop().await;
    for (annotation, value) in [
        ("load-balance", "round_robin"),
        ("load-balance", "ewma"),
        ("upstream-hash-by", "$request_uri"),
    ] {
        let ingress = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80);
        site.manifests
            .ingress(&ingress.annotation(annotation, value))?;
        let sluice = Sluice::start(&site.manifests).await?;
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
        let site = Site::start(3, 3).await?;
        let ingress = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80);
        let ingress = ingress.annotation("proxy-next-upstream", "error timeout http_503");
        site.manifests
            .ingress(&ingress.annotation(annotation, value))?;
        site.pods[0].script(Script::status(503));
        let sluice = Sluice::start(&site.manifests).await?;
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
            site.pods[0].hits() > 0,
            "{value}: the failing pod was never tried"
        );
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test]
async fn retries_skip_ejected_pods() -> Result<()> {
    let site = Site::start(4, 4).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = ingress.annotation("proxy-next-upstream", "error timeout http_503");
    let ingress = ingress.annotation("proxy-next-upstream-tries", "2");
    let ingress = ingress.annotation("sluice.dev/eject-after", "2");
    site.manifests
        .ingress(&ingress.annotation("upstream-hash-by", "$request_uri"))?;
    site.pods[..2]
        .iter()
        .for_each(|pod| pod.script(Script::status(503)));
    let sluice = Sluice::start(&site.manifests).await?;
    let requests: Vec<Request> = (0..200)
        .map(|n| Request::get(HOST, &format!("/{n}")))
        .collect();
    let ask = async || {
        Load::of(sluice.http(), requests.clone())
            .connections(1)
            .max_requests(200)
            .run_for(wait::LIMIT)
            .await
    };
    // Until both are known to fail, two tries may meet both of them.
    ask().await?;
    let hits: Vec<u64> = site.pods[..2].iter().map(|pod| pod.hits()).collect();
    let tally = ask().await?;
    ensure!(tally.failed() == 0 && tally.total() == 200, "{tally}");
    let after: Vec<u64> = site.pods[..2].iter().map(|pod| pod.hits()).collect();
    ensure!(
        hits == after,
        "an ejected pod was tried: {hits:?} became {after:?}"
    );
    sluice.stop()
}

#[tokio::test]
async fn session_moves_off_a_failing_pod_when_configured_and_stays() -> Result<()> {
    let mut site = Site::start(3, 3).await?;
    site.manifests
        .ingress(&sticky("persistent").annotation("session-cookie-change-on-failure", "true"))?;
    let sluice = Sluice::start(&site.manifests).await?;
    let (mut client, home) = clients(sluice.http(), 1).await?.remove(0);
    let pod = site
        .pods
        .iter()
        .position(|pod| pod.name() == home)
        .unwrap_or_default();
    site.pods[pod].stop().await;
    let next = client.visit(sluice.http()).await?;
    ensure!(next != home, "{next}");
    for _ in 0..10 {
        ensure!(
            client.visit(sluice.http()).await? == next,
            "the session moved again"
        );
    }
    site.pods[pod].start_again().await?;
    ensure!(
        client.visit(sluice.http()).await? == next,
        "the session went back"
    );
    sluice.stop()
}
