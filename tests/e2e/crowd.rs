//! Many requests of one client at a time, some of which hang in a pod. Of both data planes.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::http;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::site::{HOST, Site};

const MOST: usize = 8;
const ALL: usize = 20;
/// The same pods, without a limit.
const OPEN_HOST: &str = "open.test";
/// The same pods, for clients that the limit is not for.
const EXEMPT_HOST: &str = "exempt.test";
/// No answer comes as long as a test lasts.
const HANGS: &str = "/hangs";

/// A site with these hosts, each of an Ingress of its own.
pub(crate) async fn site() -> Result<Site> {
    let site = Site::start(1, 1).await?;
    let hangs = Answer { delay: Duration::from_secs(3600), ..Answer::default() };
    site.pods[0].script(Script::echo().answer(HANGS, hangs));
    let limited = |name: &str, host: &str| {
        let ingress = Ingress::new("default", name).host(host).path("/", "web", 80).path("/more", "web", 80);
        ingress.annotation("limit-connections", &MOST.to_string())
    };
    site.manifests.ingress(&limited("web", HOST))?;
    site.manifests.ingress(&limited("exempt", EXEMPT_HOST).annotation("limit-whitelist", "127.0.0.0/8"))?;
    site.manifests.ingress(&Ingress::new("default", "open").host(OPEN_HOST).path("/", "web", 80))?;
    Ok(site)
}

/// As many as may be are served, the others refused at once, also by the other paths of the Ingress and by no other one;
/// and those whose requests are over make room again.
pub(crate) async fn holds_the_limit(site: &Site, sluice: &Sluice) -> Result<()> {
    for host in [HOST, OPEN_HOST, EXEMPT_HOST] {
        let serves = async || (status(sluice, host, "/").await.ok()? == 200).then_some(());
        wait::until(&format!("{host} to be served"), serves).await?;
    }
    for round in 0..2 {
        let before = site.pods[0].hits();
        let mut crowd = crowd(sluice);
        refused(&mut crowd, ALL - MOST).await.with_context(|| format!("round {round}"))?;
        let hang = async || (site.pods[0].hits() - before == MOST as u64).then_some(());
        wait::until("as many as may be to hang in the pod", hang).await?;
        ensure!(status(sluice, HOST, "/more").await? == 503, "the paths of an Ingress are counted together");
        for host in [OPEN_HOST, EXEMPT_HOST] {
            ensure!(status(sluice, host, "/").await? == 200, "{host} is another Ingress");
        }
        crowd.shutdown().await;
        let serves = async || (status(sluice, HOST, "/").await.ok()? == 200).then_some(());
        wait::until("those that went away to count no more", serves).await?;
        for _ in 0..ALL {
            ensure!(status(sluice, HOST, "/").await? == 200, "what was answered counts no more");
        }
    }
    Ok(())
}

async fn status(sluice: &Sluice, host: &str, path: &str) -> Result<u16> {
    Ok(sluice.get(host, path).await?.status)
}

fn crowd(sluice: &Sluice) -> JoinSet<Result<u16>> {
    let addr = sluice.http();
    (0..ALL).map(|_| async move { Ok(http::get(addr, HOST, HANGS).await?.status) }).collect()
}

/// So many of a crowd are refused, and the others get no answer.
async fn refused(crowd: &mut JoinSet<Result<u16>>, many: usize) -> Result<()> {
    for _ in 0..many {
        let answer = timeout(wait::LIMIT, crowd.join_next()).await.context("too few were refused")?;
        let status = answer.context("nobody is left")???;
        ensure!(status == 503, "expected 503, got {status}");
    }
    ensure!(crowd.try_join_next().is_none() && crowd.len() == ALL - many);
    Ok(())
}
