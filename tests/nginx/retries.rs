//! Retries of a managed nginx, whichever host runs the filter.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::http::{self, Request, Response};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::{Options, Sluice};

use crate::fixture::{Fixture, HOST, page};

async fn start(fixture: &Fixture, ingress: Ingress) -> Result<Sluice> {
    fixture
        .manifests
        .ingress(&ingress.host(HOST).path("/", "web", 80))?;
    let sluice = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok(sluice)
}

fn ingress() -> Ingress {
    Ingress::new("default", "web")
}

async fn post(sluice: &Sluice) -> Result<Response> {
    http::send(
        sluice.http(),
        &Request::new("POST", HOST, "/").body("order=1"),
    )
    .await
}

fn hits(fixture: &Fixture) -> u64 {
    fixture.pods.iter().map(|pod| pod.hits()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_are_retried_until_a_pod_answers() -> Result<()> {
    let mut fixture = Fixture::start(3, 3).await?;
    let sluice = start(&fixture, ingress()).await?;
    fixture.pods[0].script(Script::hang_up());
    fixture.pods[1].stop().await;
    for _ in 0..9 {
        let answer = http::send(sluice.http(), &page()).await?;
        ensure!(
            answer.status == 200 && answer.pod() == Some("web-2"),
            "{answer:?}"
        );
    }
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_stop_at_their_limit_and_return_the_failure() -> Result<()> {
    let fixture = Fixture::start(4, 4).await?;
    let twice = ingress()
        .annotation("proxy-next-upstream-tries", "2")
        .annotation("proxy-read-timeout", "1");
    let sluice = start(&fixture, twice).await?;
    fixture
        .pods
        .iter()
        .for_each(|pod| pod.script(Script::hang_up()));
    let before = hits(&fixture);
    let answer = http::send(sluice.http(), &page()).await?;
    ensure!(
        answer.status == 502 && hits(&fixture) - before == 2,
        "{} {answer:?}",
        hits(&fixture) - before
    );

    let slow = Script::echo().delay(Duration::from_secs(5));
    fixture.pods.iter().for_each(|pod| pod.script(slow.clone()));
    let before = hits(&fixture);
    let answer = http::send(sluice.http(), &page()).await?;
    ensure!(
        answer.status == 504 && hits(&fixture) - before == 2,
        "{} {answer:?}",
        hits(&fixture) - before
    );
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn post_is_not_retried_once_a_pod_may_have_received_it() -> Result<()> {
    let mut fixture = Fixture::start(3, 3).await?;
    // Nobody has ever listened there, so there is no kept connection to it either.
    fixture.pods[2].stop().await;
    let sluice = start(&fixture, ingress()).await?;
    fixture
        .pods
        .iter()
        .for_each(|pod| pod.script(Script::hang_up()));
    let before = hits(&fixture);
    let answer = post(&sluice).await?;
    ensure!(
        answer.status == 502 && hits(&fixture) - before == 1,
        "{answer:?}"
    );

    // Nothing has begun where nobody listens.
    fixture
        .pods
        .iter()
        .for_each(|pod| pod.script(Script::echo()));
    for _ in 0..6 {
        let answer = post(&sluice).await?;
        ensure!(answer.status == 200, "{answer:?}");
        ensure!(answer.json()?["method"] == "POST", "{answer:?}");
    }
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn non_idempotent_enables_retries_of_post() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let words = "error timeout non_idempotent";
    let sluice = start(&fixture, ingress().annotation("proxy-next-upstream", words)).await?;
    fixture.pods[0].script(Script::hang_up());
    for _ in 0..4 {
        let answer = post(&sluice).await?;
        ensure!(
            answer.status == 200 && answer.pod() == Some("web-1"),
            "{answer:?}"
        );
    }
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_starts_at_the_pod_that_answered() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    let sticky = ingress()
        .annotation("affinity", "cookie")
        .annotation("session-cookie-name", "route");
    let sluice = start(&fixture, sticky).await?;
    fixture.pods[0].script(Script::hang_up());
    for _ in 0..4 {
        let answer = http::send(sluice.http(), &page()).await?;
        ensure!(answer.pod() == Some("web-1"), "{answer:?}");
        let cookie = answer.header("set-cookie").context("a session")?;
        let pair = cookie.split(';').next().unwrap_or_default();
        fixture.pods[0].script(Script::echo());
        let back = http::send(sluice.http(), &page().header("cookie", pair)).await?;
        ensure!(
            back.pod() == Some("web-1") && back.header("set-cookie").is_none(),
            "{back:?}"
        );
        fixture.pods[0].script(Script::hang_up());
    }
    sluice.stop()
}
