//! Pods that terminate, that fail and that are new.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{HOST, Site, page};
use crate::session_affinity::{clients, is_used, sticky};

fn addrs(site: &Site, pods: &[usize]) -> Vec<SocketAddr> {
    pods.iter().map(|pod| site.pods[*pod].addr()).collect()
}

#[tokio::test]
async fn terminating_pod_keeps_its_sessions_and_gets_no_new_ones() -> Result<()> {
    for mode in ["persistent", "balanced"] {
        let site = Site::start(3, 3).await?;
        site.manifests.ingress(&sticky(mode))?;
        let sluice = Sluice::start(&site.manifests).await?;
        let sessions = clients(sluice.http(), 24).await?;
        site.manifests.draining(
            "default",
            "web",
            &addrs(&site, &[1, 2]),
            &addrs(&site, &[0]),
        )?;
        // No news tells that the change is there: nobody new comes to the pod for a while.
        let settled = async || {
            let new = clients(sluice.http(), 24).await.ok()?;
            new.iter().all(|(_, pod)| pod != "web-0").then_some(())
        };
        wait::until("no new session on web-0", settled).await?;
        let old = sessions.iter().filter(|(_, pod)| pod == "web-0").count();
        ensure!(old > 0, "no session on web-0");
        for (mut client, home) in sessions {
            let pod = client.visit(sluice.http()).await?;
            ensure!(pod == home, "{mode}: a session moved from {home} to {pod}");
        }
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test]
async fn failing_pod_is_ejected_and_returns() -> Result<()> {
    let site = Site::start(3, 3).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = ingress
        .annotation("sluice.dev/eject-after", "3")
        .annotation("sluice.dev/ejection-seconds", "1");
    site.manifests
        .ingress(&ingress.annotation("proxy-next-upstream", "off"))?;
    site.pods[0].script(Script::status(500));
    let sluice = Sluice::start(&site.manifests).await?;
    let load = Load::new(sluice.http(), page())
        .connections(1)
        .max_requests(60);
    let tally = load.run_for(wait::LIMIT).await?;
    // Each worker of Envoy learns for itself, and there is one connection.
    let failed = tally.by_status.get(&500).copied().unwrap_or_default();
    ensure!(
        (3..20).contains(&failed),
        "expected an end of the failures after a few: {tally}"
    );
    site.pods[0].script(Script::echo());
    is_used(sluice.http(), "web-0").await?;
    sluice.stop()
}

#[tokio::test]
async fn slow_start_ramps_up_a_new_pod() -> Result<()> {
    const WINDOW: u64 = 6;
    let site = Site::start(2, 1).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    site.manifests
        .ingress(&ingress.annotation("sluice.dev/slow-start", &WINDOW.to_string()))?;
    let sluice = Sluice::start(&site.manifests).await?;
    let load = Load::new(sluice.http(), page())
        .connections(1)
        .pause(Duration::from_millis(2))
        .start();
    load.until("traffic", |tally| tally.total() > 0).await?;
    site.endpoints(&[0, 1])?;
    load.until("traffic on web-1", |tally| tally.pod("web-1") > 0)
        .await?;
    let mut shares = Vec::new();
    for _ in 0..4 {
        let before = load.tally();
        tokio::time::sleep(Duration::from_secs(WINDOW / 3)).await;
        let after = load.tally();
        let share = |pod: &str| (after.pod(pod) - before.pod(pod)) as f64;
        shares.push(share("web-1") / (share("web-0") + share("web-1")));
    }
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    ensure!(
        shares[0] < 0.35 && shares[0] < shares[1] && shares[1] < shares[3],
        "no curve: {shares:?}"
    );
    ensure!(
        (0.45..0.55).contains(&shares[3]),
        "no full share in the end: {shares:?}"
    );
    sluice.stop()
}
