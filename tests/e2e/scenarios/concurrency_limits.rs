//! Many requests of one client at a time, some of which hang in a pod. Of both data planes.

use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use sluice_tests::http;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, HOST};

const LIMIT: usize = 8;
const REQUESTS: usize = 20;
/// The same pods, without a limit.
const OPEN_HOST: &str = "open.test";
/// The same pods, for clients that the limit is not for.
const EXEMPT_HOST: &str = "exempt.test";
/// No answer comes as long as a test lasts.
const HANGS: &str = "/hangs";

/// A site with these hosts, each of an Ingress of its own.
pub(crate) async fn fixture() -> Result<Fixture> {
    let fixture = Fixture::start(1, 1).await?;
    let hangs = Answer {
        delay: Duration::from_secs(3600),
        ..Answer::default()
    };
    fixture.pods[0].script(Script::echo().answer(HANGS, hangs));
    let filled = |name: &str, host: &str| {
        let ingress = Ingress::new("default", name)
            .host(host)
            .path("/", "web", 80)
            .path("/more", "web", 80);
        ingress.annotation("limit-connections", &LIMIT.to_string())
    };
    fixture.manifests.ingress(&filled("web", HOST))?;
    fixture
        .manifests
        .ingress(&filled("exempt", EXEMPT_HOST).annotation("limit-whitelist", "127.0.0.0/8"))?;
    fixture.manifests.ingress(
        &Ingress::new("default", "open")
            .host(OPEN_HOST)
            .path("/", "web", 80),
    )?;
    Ok(fixture)
}

/// As many as may be are served, the others refused at once, also by the other paths of the Ingress and by no other one;
/// and those whose requests are over make room again.
pub(crate) async fn enforces_the_limit(fixture: &Fixture, sluice: &Sluice) -> Result<()> {
    for host in [HOST, OPEN_HOST, EXEMPT_HOST] {
        let serves = async || (status(sluice, host, "/").await.ok()? == 200).then_some(());
        wait::until(&format!("{host} to be served"), serves).await?;
    }
    let filled = async || Some(fill(fixture, sluice).await.transpose()?);
    for _ in 0..2 {
        // Those that went away count no more, as soon as all workers have seen it.
        let mut requests = wait::until("as many as may be to hang in the pod", filled)
            .await?
            .0?;
        ensure!(
            status(sluice, HOST, "/more").await? == 503,
            "the paths of an Ingress are counted together"
        );
        for host in [OPEN_HOST, EXEMPT_HOST] {
            ensure!(
                status(sluice, host, "/").await? == 200,
                "{host} is another Ingress"
            );
        }
        requests.shutdown().await;
        let serves = async || (status(sluice, HOST, "/").await.ok()? == 200).then_some(());
        wait::until("those that went away to count no more", serves).await?;
        for _ in 0..REQUESTS {
            ensure!(
                status(sluice, HOST, "/").await? == 200,
                "what was answered counts no more"
            );
        }
    }
    Ok(())
}

async fn status(sluice: &Sluice, host: &str, path: &str) -> Result<u16> {
    Ok(sluice.get(host, path).await?.status)
}

/// A crowd of which as many hang in the pod as may be; `None` when more than that were refused.
async fn fill(fixture: &Fixture, sluice: &Sluice) -> Result<Option<JoinSet<Result<u16>>>> {
    let (addr, before) = (sluice.http(), fixture.pods[0].hits());
    let mut requests: JoinSet<Result<u16>> = (0..REQUESTS)
        .map(|_| async move { Ok(http::get(addr, HOST, HANGS).await?.status) })
        .collect();
    let all_settled = async || {
        let hanging = usize::try_from(fixture.pods[0].hits() - before).unwrap_or(usize::MAX);
        while let Some(answer) = requests.try_join_next() {
            match answer.map_err(anyhow::Error::from).flatten() {
                Ok(503) => {}
                Ok(status) => return Some(Err(anyhow!("expected 503, got {status}"))),
                Err(error) => return Some(Err(error)),
            }
        }
        (requests.len() == hanging).then_some(Ok(hanging))
    };
    let hanging = wait::until("each one to hang or to be refused", all_settled)
        .await?
        .0?;
    ensure!(hanging <= LIMIT, "{hanging} are in the pod at a time");
    if hanging < LIMIT {
        requests.shutdown().await;
    }
    Ok((hanging == LIMIT).then_some(requests))
}
