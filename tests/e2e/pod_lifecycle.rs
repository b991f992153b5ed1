//! Pods that terminate, that fail and that are new.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};
use crate::session_affinity::{new_clients, sticky_ingress, wait_until_used};

fn addrs(fixture: &Fixture, pods: &[usize]) -> Vec<SocketAddr> {
    pods.iter().map(|pod| fixture.pods[*pod].addr()).collect()
}

#[tokio::test]
async fn terminating_pod_keeps_its_sessions_and_gets_no_new_ones() -> Result<()> {
    for mode in ["persistent", "balanced"] {
        let fixture = Fixture::start(3, 3).await?;
        fixture.manifests.ingress(&sticky_ingress(mode))?;
        let sluice = Sluice::start(&fixture.manifests).await?;
        let sessions = new_clients(sluice.http(), 24).await?;
        fixture.manifests.draining(
            "default",
            "web",
            &addrs(&fixture, &[1, 2]),
            &addrs(&fixture, &[0]),
        )?;
        // No news tells that the change is there: nobody new comes to the pod for a while.
        let settled = async || {
            let new = new_clients(sluice.http(), 24).await.ok()?;
            new.iter().all(|(_, pod)| pod != "web-0").then_some(())
        };
        wait::until("no new session on web-0", settled).await?;
        let old = sessions.iter().filter(|(_, pod)| pod == "web-0").count();
        ensure!(old > 0, "no session on web-0");
        for (mut client, first_pod) in sessions {
            let pod = client.visit(sluice.http()).await?;
            ensure!(
                pod == first_pod,
                "{mode}: a session moved from {first_pod} to {pod}"
            );
        }
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test]
async fn failing_pod_is_ejected_and_returns() -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = ingress
        .annotation("sluice.dev/eject-after", "3")
        .annotation("sluice.dev/ejection-seconds", "1");
    fixture
        .manifests
        .ingress(&ingress.annotation("proxy-next-upstream", "off"))?;
    fixture.pods[0].script(Script::status(500));
    let sluice = Sluice::start(&fixture.manifests).await?;
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
    fixture.pods[0].script(Script::echo());
    wait_until_used(sluice.http(), "web-0").await?;
    sluice.stop()
}
