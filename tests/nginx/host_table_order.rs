//! The host table and the filter's tables change together: a path that comes or goes costs no request, whatever else changes.

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_comes_or_goes_among_many_changes_costs_no_request() -> Result<()> {
    let as_wasm = artifacts::compiled_filter()?.display().to_string();
    let as_wasm = format!("--nginx-filter=wasm --filter-cwasm={as_wasm}");
    // Where wasm is asked for, it is there already.
    let others = [as_wasm]
        .into_iter()
        .filter(|_| !artifacts::is_wasm_asked_for());
    for form in std::iter::once(String::new()).chain(others) {
        paths_come_and_go(&form).await.context(form)?;
    }
    Ok(())
}

async fn paths_come_and_go(form: &str) -> Result<()> {
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

/// Whoever looks at the table while its successor is being published finds the successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_ahead_of_the_filter_is_taken_when_none_else_comes() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
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

    let mut is_seen = false;
    for pod in [0, 1, 0, 1, 0] {
        let start = Instant::now();
        replace(&index, &ahead)?;
        // The filter is told something else, and the worker looks at its table.
        fixture.endpoints(&[pod])?;
        wait::until("the other pod", async || {
            let page = sluice.get("stays.test", "/").await.ok()?;
            (page.pod() == Some(&*format!("web-{pod}"))).then_some(())
        })
        .await?;
        let status = sluice.get("goes.test", "/").await?.status;
        // On a machine that is busy it may be taken by now.
        is_seen |= start.elapsed() < Duration::from_secs(1);
        if is_seen {
            ensure!(status == 404, "{status}");
            break;
        }
    }
    ensure!(is_seen, "the machine is too slow to see it");
    wait::until("the table", async || {
        let status = sluice.get("goes.test", "/").await.ok()?.status;
        (status != 404).then_some(())
    })
    .await?;
    sluice.stop()
}

async fn start(manifests: &Manifests, form: &str) -> Result<Sluice> {
    let form = form.split_whitespace().map(str::to_owned);
    let options = Options::new(manifests).data_plane("nginx").workers(2);
    let sluice = options.arguments(form.collect()).start().await?;
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
