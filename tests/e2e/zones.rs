//! Pods in the zone of the data plane come first, and the others serve when there are none.

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use sluice_tests::zones::{answering, place};

use crate::fixture::{Fixture, HOST};
use crate::session_affinity::{new_clients, sticky_ingress};

const PREFERENCE: &str = "sluice.dev/zone-preference";

impl Fixture {
    /// Makes these pods the only endpoints of a Service, each in its zone.
    pub(crate) fn place_in_zones(&self, service: &str, pods: &[(usize, &str)]) -> Result<()> {
        let pods: Vec<_> = pods
            .iter()
            .map(|(pod, zone)| (&self.pods[*pod], *zone))
            .collect();
        place(&self.manifests, service, &pods)
    }
}

async fn start(fixture: &Fixture) -> Result<Sluice> {
    Options::new(&fixture.manifests)
        .arguments(vec!["--zone=a".to_owned()])
        .start()
        .await
}

#[tokio::test]
async fn local_zone_serves_until_it_has_no_pods() -> Result<()> {
    let ingress = || {
        Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80)
    };
    for ingress in [
        ingress(),
        ingress().annotation("upstream-hash-by", "$request_uri"),
    ] {
        let fixture = Fixture::start(4, 4).await?;
        fixture
            .manifests
            .ingress(&ingress.annotation(PREFERENCE, "prefer"))?;
        fixture.place_in_zones("web", &[(0, "a"), (1, "b"), (2, "a"), (3, "b")])?;
        let sluice = start(&fixture).await?;
        ensure!(
            answering(&sluice, HOST).await? == ["web-0", "web-2"],
            "{:?}",
            answering(&sluice, HOST).await?
        );
        fixture.place_in_zones("web", &[(1, "b"), (3, "b")])?;
        let far =
            async || (answering(&sluice, HOST).await.ok()? == ["web-1", "web-3"]).then_some(());
        wait::until("the other zone to serve", far).await?;
        sluice.stop()?;
    }
    Ok(())
}

#[tokio::test]
async fn zones_are_ignored_without_a_preference() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    fixture.place_in_zones("web", &[(0, "a"), (1, "b")])?;
    let sluice = start(&fixture).await?;
    ensure!(
        answering(&sluice, HOST).await? == ["web-0", "web-1"],
        "{:?}",
        answering(&sluice, HOST).await?
    );
    sluice.stop()
}

#[tokio::test]
async fn new_sessions_start_in_the_local_zone_and_old_ones_stay() -> Result<()> {
    for mode in ["persistent", "balanced"] {
        let fixture = Fixture::start(3, 3).await?;
        fixture
            .manifests
            .ingress(&sticky_ingress(mode).annotation(PREFERENCE, "prefer"))?;
        fixture.place_in_zones("web", &[(1, "b"), (2, "b")])?;
        let sluice = start(&fixture).await?;
        let far = new_clients(sluice.http(), 4).await?;
        fixture.place_in_zones("web", &[(0, "a"), (1, "b"), (2, "b")])?;
        sluice.wait_for_pod(HOST, "web-0").await?;
        let new = new_clients(sluice.http(), 12).await?;
        ensure!(
            new.iter().all(|(_, pod)| pod == "web-0"),
            "{mode}: a new session began far away"
        );
        for (mut client, home) in far {
            let pod = client.visit(sluice.http()).await?;
            // A balanced session may move to the new pod, as ever; to no other.
            ensure!(
                pod == home || (mode == "balanced" && pod == "web-0"),
                "{mode}: {home} became {pod}"
            );
        }
        sluice.stop()?;
    }
    Ok(())
}
