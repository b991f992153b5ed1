//! The host table and the filter's tables change together: a path that comes or goes costs no request, whatever else changes, and a
//! table that is ahead of the filter waits.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sluice_tests::artifacts;
use sluice_tests::echo::Echo;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use tokio::time::sleep;

use crate::fixture::Fixture;
use crate::host_table_files::{index, replace};

const HOST: &str = "shop.test";
/// Hosts that change all the time.
const OTHERS: usize = 30;
/// Between two of their changes.
const CHURN: Duration = Duration::from_millis(10);
/// Paths of the host that come and go.
const PATHS: usize = 40;
/// Between two of them.
const STEP: Duration = Duration::from_millis(30);
/// That of the module.
const MAX_WAIT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_comes_or_goes_among_many_changes_costs_no_request() -> Result<()> {
    let compiled = artifacts::compiled_filter()?;
    let compiled = format!("--filter-cwasm={}", compiled.display());
    let as_wasm = vec!["--nginx-filter=wasm".to_owned(), compiled];
    // Where wasm is asked for, it is there already.
    let others = [as_wasm]
        .into_iter()
        .filter(|_| !artifacts::is_wasm_asked_for());
    for form in std::iter::once(Vec::new()).chain(others) {
        paths_come_and_go(&form)
            .await
            .with_context(|| format!("{form:?}"))?;
    }
    Ok(())
}

async fn paths_come_and_go(form: &[String]) -> Result<()> {
    let network = Network::reserve()?;
    let _pods = Echo::start_all("web", &network.pods(2)).await?;
    let manifests = Arc::new(Manifests::new()?);
    manifests.service("default", "web", 80, &network.pods(2))?;
    manifests.ingress(&shop(0))?;
    (0..OTHERS).try_for_each(|other| manifests.ingress(&changed(other)))?;
    let sluice = start(&manifests, form).await?;

    let over = Arc::new(AtomicBool::new(false));
    let churn = tokio::spawn(churn(Arc::clone(&manifests), Arc::clone(&over)));
    let asked = (0..PATHS).map(|path| Request::get(HOST, &format!("/{path}")));
    let load = Load::of(sluice.http(), asked.collect())
        .connections(4)
        .start();
    for paths in (1..PATHS).chain((0..PATHS).rev()) {
        manifests.ingress(&shop(paths))?;
        sleep(STEP).await;
    }
    over.store(true, Ordering::Relaxed);
    let changes = churn.await.context("the churn")??;
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}, with {changes} other changes");
    ensure!(changes > PATHS, "{changes} other changes");
    sluice.stop()
}

/// An index that the log has not announced: here a former one, put back by hand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_ahead_of_the_filter_waits_and_is_taken_after_a_second() -> Result<()> {
    let fixture = Fixture::start(2, 1).await?;
    let ingress = |host: &str| Ingress::new("default", host).host(host);
    let [stays, goes] = ["stays.test", "goes.test"].map(|host| ingress(host).path("/", "web", 80));
    fixture.manifests.ingress(&stays)?;
    fixture.manifests.ingress(&goes)?;
    let options = Options::new(&fixture.manifests).data_plane("nginx");
    let sluice = options.workers(1).start().await?;
    sluice.wait_for_status("goes.test", "/", 200).await?;
    let index = index(&sluice)?;
    let ahead = fs::read_to_string(&index)?;
    fixture.manifests.remove_object(&goes.to_json())?;
    sluice.wait_for_status("goes.test", "/", 404).await?;
    let announced = fs::read_to_string(&index)?;

    let mut pod = 0;
    loop {
        let start = Instant::now();
        replace(&index, &ahead)?;
        // The filter is told something else, and the worker looks at its table.
        pod = 1 - pod;
        follows(&sluice, &fixture, pod).await?;
        let status = sluice.get("goes.test", "/").await?.status;
        if start.elapsed() < MAX_WAIT {
            ensure!(status == 404, "{status}");
            break;
        }
        // The machine is busy, and it may have been taken.
        replace(&index, &announced)?;
        pod = 1 - pod;
        follows(&sluice, &fixture, pod).await?;
        sluice.wait_for_status("goes.test", "/", 404).await?;
    }
    wait::until("the table", async || {
        let status = sluice.get("goes.test", "/").await.ok()?.status;
        (status != 404).then_some(())
    })
    .await?;
    sluice.stop()
}

/// Makes a pod the only endpoint, and waits until it is.
async fn follows(sluice: &Sluice, fixture: &Fixture, pod: usize) -> Result<()> {
    fixture.endpoints(&[pod])?;
    let name = format!("web-{pod}");
    wait::until(&name, async || {
        let page = sluice.get("stays.test", "/").await.ok()?;
        (page.pod() == Some(&*name)).then_some(())
    })
    .await
    .map(drop)
}

async fn start(manifests: &Manifests, form: &[String]) -> Result<Sluice> {
    let options = Options::new(manifests).data_plane("nginx").workers(2);
    let sluice = options.arguments(form.to_vec()).start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok(sluice)
}

/// The host with so many paths, and all others.
fn shop(paths: usize) -> Ingress {
    let all = Ingress::new("default", "shop").host(HOST);
    (0..paths).fold(all.path("/", "web", 80), |all, path| {
        all.path(&format!("/{path}"), "web", 80)
    })
}

/// Another host after so many changes, each of which gives one of them another path.
fn changed(change: usize) -> Ingress {
    let other = change % OTHERS;
    let ingress = Ingress::new("default", &format!("other-{other}"));
    ingress
        .host(&format!("other-{other}.test"))
        .path(&format!("/{change}"), "web", 80)
}

/// How many changes there were.
async fn churn(manifests: Arc<Manifests>, over: Arc<AtomicBool>) -> Result<usize> {
    let mut changes = OTHERS;
    while !over.load(Ordering::Relaxed) {
        sleep(CHURN).await;
        manifests.ingress(&changed(changes))?;
        changes += 1;
    }
    Ok(changes - OTHERS)
}
