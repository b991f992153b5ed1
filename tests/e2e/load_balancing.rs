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
use sluice_tests::tally::Tally;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};

fn ingress_with(annotation: &str, value: &str) -> Ingress {
    Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80)
        .annotation(annotation, value)
}

/// The pods that answer a path, of several requests.
async fn pods(addr: SocketAddr, path: &str) -> Result<BTreeSet<String>> {
    let mut pods = BTreeSet::new();
    for _ in 0..9 {
        pods.insert(
            http::get(addr, HOST, path)
                .await?
                .pod()
                .context("a pod answers")?
                .to_owned(),
        );
    }
    Ok(pods)
}

/// Each path has its pod, and every pod has some: in turn, with other requests in between, one of both fails.
async fn is_hashed(addr: SocketAddr) -> Result<bool> {
    let mut all = BTreeSet::new();
    for n in 0..36 {
        let mut one = pods(addr, &format!("/{n}")).await?;
        if one.len() > 1 {
            return Ok(false);
        }
        all.append(&mut one);
    }
    Ok(all.len() == 3)
}

#[tokio::test]
async fn algorithm_change_under_load_fails_no_request() -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let load = Load::new(sluice.http(), page()).connections(2).start();
    load.until("traffic", |tally| tally.total() > 20).await?;
    ensure!(!is_hashed(sluice.http()).await?, "in turn");

    fixture
        .manifests
        .ingress(&ingress_with("upstream-hash-by", "$request_uri"))?;
    let hashed = async || is_hashed(sluice.http()).await.ok()?.then_some(());
    wait::until("the hash", hashed).await?;

    fixture
        .manifests
        .ingress(&ingress_with("load-balance", "round_robin"))?;
    let round_robin = async || (!is_hashed(sluice.http()).await.ok()?).then_some(());
    wait::until("the rotation", round_robin).await?;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    sluice.stop()
}

/// So many requests at a time to three pods, the first of which rests so long before it answers.
async fn load_with_a_slow_pod(
    algorithm: &str,
    connections: usize,
    rest: Duration,
) -> Result<Tally> {
    let fixture = Fixture::start(3, 3).await?;
    fixture.pods[0].script(Script::echo().delay(rest));
    fixture
        .manifests
        .ingress(&ingress_with("load-balance", algorithm))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let load = Load::new(sluice.http(), page())
        .connections(connections)
        .max_requests(150);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(tally.failed() == 0 && tally.total() == 150, "{tally}");
    sluice.stop()?;
    Ok(tally)
}

#[tokio::test]
async fn ewma_sends_fewer_requests_to_a_slow_pod() -> Result<()> {
    for algorithm in ["ewma", "peak_ewma"] {
        let tally = load_with_a_slow_pod(algorithm, 1, Duration::from_millis(200)).await?;
        let others = tally.pod("web-1").min(tally.pod("web-2"));
        ensure!(tally.pod("web-0") * 4 < others, "{algorithm}: {tally}");
    }
    Ok(())
}

#[tokio::test]
async fn least_conn_counts_outstanding_requests_of_a_slow_pod() -> Result<()> {
    // Longer than the others take for all requests, also on a busy machine: what is outstanding counts, not what was measured.
    let tally = load_with_a_slow_pod("least_conn", 8, Duration::from_secs(2)).await?;
    ensure!(
        tally.pod("web-0") * 2 < tally.pod("web-1").min(tally.pod("web-2")),
        "{tally}"
    );
    Ok(())
}

#[tokio::test]
async fn hot_key_overflows_only_while_its_pod_is_overloaded() -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    fixture.manifests.ingress(
        &ingress_with("upstream-hash-by", "$host").annotation("sluice.dev/hash-load-factor", "125"),
    )?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let run = async |connections: usize| {
        let load = Load::new(sluice.http(), page())
            .connections(connections)
            .max_requests(90);
        load.run_for(wait::LIMIT).await
    };
    let idle = run(1).await?;
    ensure!(idle.by_pod.len() == 1, "one at a time, one pod: {idle}");
    fixture
        .pods
        .iter()
        .for_each(|pod| pod.script(Script::echo().delay(Duration::from_millis(20))));
    let busy = run(9).await?;
    ensure!(busy.failed() == 0 && busy.by_pod.len() == 3, "{busy}");
    // Nobody has more than 125 % of the mean at any time; over time that is about what each gets.
    ensure!(busy.by_pod.values().all(|pod| pod.count <= 50), "{busy}");
    sluice.stop()
}

#[tokio::test]
async fn hash_key_maps_to_the_pods_of_its_subset() -> Result<()> {
    let fixture = Fixture::start(4, 4).await?;
    let subsets = ingress_with("upstream-hash-by", "$request_uri")
        .annotation("upstream-hash-by-subset", "true");
    fixture
        .manifests
        .ingress(&subsets.annotation("upstream-hash-by-subset-size", "2"))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let mut subsets = BTreeSet::new();
    for n in 0..24 {
        subsets.insert(pods(sluice.http(), &format!("/{n}")).await?);
    }
    let whole: Vec<_> = subsets.iter().filter(|pods| pods.len() == 2).collect();
    ensure!(
        subsets.iter().all(|pods| pods.len() <= 2) && whole.len() == 2,
        "{subsets:?}"
    );
    ensure!(whole[0].is_disjoint(whole[1]), "{subsets:?}");
    sluice.stop()
}
