//! nginx as the controller's child.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::{proc, process, wait};

use crate::site::{HOST, Site, page, spreads_evenly};

async fn start(site: &Site) -> Result<Sluice> {
    let sluice = Options::new(&site.manifests).data_plane("nginx").start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    Ok(sluice)
}

/// The master's process id, and those of its workers.
fn processes(sluice: &Sluice) -> Result<(u32, Vec<u32>)> {
    let master = *proc::children(sluice.pid()).first().context("an nginx")?;
    Ok((master, proc::children(master)))
}

fn reloads(sluice: &Sluice) -> usize {
    sluice.log().lines().iter().filter(|line| line.contains("reloading nginx")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_change_without_a_reload_and_hosts_with_one() -> Result<()> {
    let site = Site::start(3, 2).await?;
    let sluice = start(&site).await?;
    spreads_evenly(sluice.http(), &[0, 1]).await?;
    let before = processes(&sluice)?;
    site.endpoints(&[1, 2])?;
    wait::until("the new pods", async || spreads_evenly(sluice.http(), &[1, 2]).await.ok()).await?;
    ensure!(processes(&sluice)? == before && reloads(&sluice) == 0, "{}", sluice.log().tail());

    site.manifests.ingress(&Ingress::new("default", "more").host("more.test").path("/", "web", 80))?;
    sluice.wait_for_status("more.test", "/", 200).await?;
    ensure!(reloads(&sluice) == 1, "{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_come_and_go_fail_no_request_of_another() -> Result<()> {
    let site = Site::start(2, 2).await?;
    let sluice = start(&site).await?;
    let request = page().header("connection", "close");
    let load = Load::new(sluice.http(), request).connections(4).pause(Duration::from_millis(1)).start();
    for n in 0..4 {
        let host = format!("more-{n}.test");
        site.manifests.ingress(&Ingress::new("default", "more").host(&host).path("/", "web", 80))?;
        sluice.wait_for_status(&host, "/", 200).await?;
    }
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0 && reloads(&sluice) >= 4, "{tally}\n{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_nginx_that_dies_is_started_again_and_so_is_a_worker() -> Result<()> {
    let site = Site::start(2, 2).await?;
    let sluice = start(&site).await?;
    let (master, workers) = processes(&sluice)?;
    process::signal_by_name(*workers.first().context("a worker")?, "SIGKILL")?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    ensure!(processes(&sluice)?.0 == master, "the master stays");

    // Its workers would go on for ever, and keep the port.
    let (master, orphans) = processes(&sluice)?;
    process::signal_by_name(master, "SIGKILL")?;
    let new = async || processes(&sluice).ok().filter(|(pid, workers)| *pid != master && !workers.is_empty());
    wait::until("another nginx", new).await.with_context(|| sluice.log().tail())?;
    let ended = async || orphans.iter().all(|orphan| !proc::is_running(*orphan)).then_some(());
    wait::until("the end of the orphans", ended).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_requests_are_served_before_the_end() -> Result<()> {
    let site = Site::start(1, 1).await?;
    let sluice = start(&site).await?;
    site.pods[0].script(sluice_tests::script::Script::status(200).delay(Duration::from_millis(700)));
    let (addr, before) = (sluice.http(), site.pods[0].hits());
    let open = tokio::spawn(async move { sluice_tests::http::send(addr, &page()).await });
    wait::until("the request at the pod", async || (site.pods[0].hits() > before).then_some(())).await?;
    tokio::task::spawn_blocking(move || sluice.stop()).await??;
    ensure!(open.await??.status == 200);
    Ok(())
}
