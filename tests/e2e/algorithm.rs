//! Algorithms, as requests see them, and the change from one to another at run time.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::http;
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::site::{HOST, Site, page};

fn with(annotation: &str, value: &str) -> Ingress {
    Ingress::new("default", "web").host(HOST).path("/", "web", 80).annotation(annotation, value)
}

/// The pods that answer a path, of several requests.
async fn pods(addr: SocketAddr, path: &str) -> Result<BTreeSet<String>> {
    let mut pods = BTreeSet::new();
    for _ in 0..9 {
        pods.insert(http::get(addr, HOST, path).await?.pod().context("a pod answers")?.to_owned());
    }
    Ok(pods)
}

/// Each path has its pod, and not all have the same: in turn, with other requests in between, one of both fails.
async fn is_hashed(addr: SocketAddr) -> Result<bool> {
    let mut all = BTreeSet::new();
    for n in 0..12 {
        let mut one = pods(addr, &format!("/{n}")).await?;
        if one.len() > 1 {
            return Ok(false);
        }
        all.append(&mut one);
    }
    Ok(all.len() == 3)
}

#[tokio::test]
async fn the_algorithm_changes_while_requests_run_and_none_fails() -> Result<()> {
    let site = Site::start(3, 3).await?;
    let sluice = Sluice::start(&site.manifests).await?;
    let load = Load::new(sluice.http(), page()).connections(2).start();
    load.until("traffic", |tally| tally.total() > 20).await?;
    ensure!(!is_hashed(sluice.http()).await?, "in turn");

    site.manifests.ingress(&with("upstream-hash-by", "$request_uri"))?;
    let hashed = async || is_hashed(sluice.http()).await.ok()?.then_some(());
    wait::until("the hash", hashed).await?;

    site.manifests.ingress(&with("load-balance", "round_robin"))?;
    let in_turn = async || (!is_hashed(sluice.http()).await.ok()?).then_some(());
    wait::until("the rotation", in_turn).await?;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    sluice.stop()
}

#[tokio::test]
async fn ewma_leaves_a_slow_pod_to_its_own_pace() -> Result<()> {
    let site = Site::start(3, 3).await?;
    site.pods[0].script(Script::echo().delay(Duration::from_millis(200)));
    site.manifests.ingress(&with("load-balance", "ewma"))?;
    let sluice = Sluice::start(&site.manifests).await?;
    let load = Load::new(sluice.http(), page()).connections(1).max_requests(150);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(tally.failed() == 0 && tally.total() == 150, "{tally}");
    ensure!(tally.pod("web-0") * 5 < tally.pod("web-1").min(tally.pod("web-2")), "{tally}");
    sluice.stop()
}
