//! Round robin by Envoy itself and by the filter: clients see no difference, in the table and in scopes.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::http;
use sluice_tests::load::Load;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST, page};
use crate::metrics::sample;
use crate::scenarios::backups::{self, place_pods};
use crate::session_affinity::sticky_ingress;
use crate::weights::set_pod_weight;

/// Envoy by itself or the filter, in a table or in scopes.
#[derive(Clone, Copy)]
struct Way(&'static [&'static str]);

impl Way {
    async fn start(self, fixture: &Fixture) -> Result<Sluice> {
        let arguments = self.0.iter().map(ToString::to_string).collect();
        let options = Options::new(&fixture.manifests).arguments(arguments);
        options.start().await
    }
}

macro_rules! both_ways {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            use super::Way;

            #[tokio::test]
            async fn envoy_in_a_table() -> anyhow::Result<()> {
                super::$name(Way(&["--native-balancing=auto"])).await
            }

            #[tokio::test]
            async fn envoy_in_scopes() -> anyhow::Result<()> {
                super::$name(Way(&["--native-balancing=auto", "--scopes-from=0"])).await
            }

            #[tokio::test]
            async fn filter_in_a_table() -> anyhow::Result<()> {
                super::$name(Way(&["--native-balancing=off"])).await
            }

            #[tokio::test]
            async fn filter_in_scopes() -> anyhow::Result<()> {
                super::$name(Way(&["--native-balancing=off", "--scopes-from=0"])).await
            }
        }
    )+};
}

both_ways!(
    weights_are_turns,
    pods_come_and_go_under_load,
    refused_connections_fail_over,
    resting_pods_serve_when_all_rest,
    new_pod_begins_slowly,
);

async fn weights_are_turns(way: Way) -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    set_pod_weight(&fixture.manifests, "web-1", "2")?;
    set_pod_weight(&fixture.manifests, "web-2", "3")?;
    fixture.place_in_zones("web", &[(0, "a"), (1, "a"), (2, "a")])?;
    let sluice = way.start(&fixture).await?;
    let load = Load::new(sluice.http(), page())
        .connections(1)
        .max_requests(600);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(tally.failed() == 0 && tally.total() == 600, "{tally}");
    for (pod, share) in [("web-0", 100), ("web-1", 200), ("web-2", 300)] {
        ensure!(tally.pod(pod).abs_diff(share) <= 3, "{:?}", tally.by_pod);
    }
    sluice.stop()
}

/// A pod that leaves gets nothing any more, though its process still serves; without any there is a response, too.
async fn pods_come_and_go_under_load(way: Way) -> Result<()> {
    let fixture = Fixture::start(3, 2).await?;
    let sluice = way.start(&fixture).await?;
    let load = Load::new(sluice.http(), page())
        .connections(2)
        .pause(Duration::from_millis(1))
        .start();
    for (pods, left) in [(&[0, 1, 2][..], None), (&[1, 2], Some(0)), (&[0], Some(2))] {
        fixture.endpoints(pods)?;
        for pod in pods {
            let name = format!("web-{pod}");
            let before = load.tally().pod(&name);
            load.until(&name, |tally| tally.pod(&name) > before).await?;
        }
        if let Some(left) = left {
            fixture.wait_until_idle(left).await?;
        }
    }
    let tally = load.stop().await?;
    ensure!(tally.failed() == 0, "{tally}");
    fixture.endpoints(&[])?;
    sluice.wait_for_status(HOST, "/", 503).await?;
    fixture.endpoints(&[1])?;
    sluice.wait_for_pod(HOST, "web-1").await?;
    sluice.stop()
}

/// Whatever the others weigh, and though a pod that fails has the fewest requests under way.
async fn refused_connections_fail_over(way: Way) -> Result<()> {
    let mut fixture = Fixture::start(3, 3).await?;
    fixture.place_in_zones("web", &[(0, "a"), (1, "a"), (2, "a")])?;
    fixture.pods[0].stop().await;
    fixture.pods[1].stop().await;
    let sluice = way.start(&fixture).await?;
    for (algorithm, weights) in [
        ("round_robin", ["1", "1"]),
        ("round_robin", ["16", "16"]),
        ("round_robin", ["100", "1"]),
        ("least_conn", ["1", "1"]),
    ] {
        let before = fixture.pods[2].hits();
        let ingress = Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80)
            .annotation("load-balance", algorithm);
        fixture.manifests.ingress(&ingress)?;
        for (pod, weight) in ["web-0", "web-1"].into_iter().zip(weights) {
            set_pod_weight(&fixture.manifests, pod, weight)?;
        }
        // No news tells that the change is there; whichever of both holds, nothing fails.
        let load = Load::new(sluice.http(), page())
            .connections(2)
            .max_requests(400);
        let tally = load.run_for(wait::LIMIT).await?;
        let served = tally.pod("web-2") == 400 && fixture.pods[2].hits() >= before + 400;
        ensure!(
            tally.failed() == 0 && served,
            "{algorithm} {weights:?}: {tally}"
        );
    }
    sluice.stop()
}

/// Pods that rest serve when there is nobody else.
async fn resting_pods_serve_when_all_rest(way: Way) -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    fixture.place_in_zones("web", &[(0, "a"), (1, "a")])?;
    set_pod_weight(&fixture.manifests, "web-0", "0")?;
    let sluice = way.start(&fixture).await?;
    for _ in 0..20 {
        let response = sluice.get(HOST, "/").await?;
        ensure!(response.pod() == Some("web-1"), "{:?}", response.pod());
    }
    set_pod_weight(&fixture.manifests, "web-1", "0")?;
    sluice.wait_for_pod(HOST, "web-0").await?;
    for _ in 0..20 {
        ensure!(sluice.get(HOST, "/").await?.status == 200, "all rest");
    }
    sluice.stop()
}

async fn new_pod_begins_slowly(way: Way) -> Result<()> {
    const WINDOW: u64 = 3;
    let fixture = Fixture::start(2, 1).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&ingress.annotation("sluice.dev/slow-start", &WINDOW.to_string()))?;
    let sluice = way.start(&fixture).await?;
    let load = Load::new(sluice.http(), page())
        .connections(1)
        .pause(Duration::from_millis(2))
        .start();
    load.until("traffic", |tally| tally.total() > 0).await?;
    // For an Envoy that has just started all pods are new; beside one that is growing itself, another seems to grow less.
    tokio::time::sleep(Duration::from_secs(WINDOW)).await;
    fixture.endpoints(&[0, 1])?;
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

/// Routes that Envoy balances by itself and routes of the filter, as metrics count them.
async fn wait_for_routes(sluice: &Sluice, envoy: f64, filter: f64) -> Result<()> {
    let counted = async || {
        for (balancing, expected) in [("envoy", envoy), ("filter", filter)] {
            let label = format!("balancing=\"{balancing}\"");
            let name = "nginx_ingress_controller_routes";
            let routes = sample(sluice.health(), name, &[&label]).await.ok()?;
            (routes == Some(expected)).then_some(())?;
        }
        Some(())
    };
    wait::until(&format!("{envoy} routes of Envoy and {filter}"), counted)
        .await
        .map(drop)
}

#[tokio::test]
async fn routes_move_to_the_filter_and_back_without_a_failed_request() -> Result<()> {
    for scopes in ["--scopes-from=1000", "--scopes-from=0"] {
        let fixture = backups::site().await?;
        place_pods(&fixture, &[0, 1])?;
        let options = Options::new(&fixture.manifests).arguments(vec![scopes.to_owned()]);
        let sluice = options.start().await?;
        wait_for_routes(&sluice, 1.0, 0.0).await?;
        let load = Load::new(sluice.http(), page()).connections(2).start();
        let cookie = async || {
            let response = http::get(sluice.http(), HOST, "/").await.ok()?;
            Some(response.header("set-cookie").is_some())
        };
        fixture.manifests.ingress(&sticky_ingress("balanced"))?;
        wait_for_routes(&sluice, 0.0, 1.0).await?;
        let begins = async || cookie().await?.then_some(());
        wait::until("a session", begins).await?;
        let plain = Ingress::new("default", "web").host(HOST);
        fixture.manifests.ingress(&plain.path("/", "web", 80))?;
        wait_for_routes(&sluice, 1.0, 0.0).await?;
        let ends = async || (!cookie().await?).then_some(());
        wait::until("no session", ends).await?;
        // Endpoints alone have changed, but retries go to backups now.
        place_pods(&fixture, &[0, 1, 2])?;
        wait_for_routes(&sluice, 0.0, 1.0).await?;
        place_pods(&fixture, &[0, 1])?;
        wait_for_routes(&sluice, 1.0, 0.0).await?;
        let tally = load.stop().await?;
        ensure!(tally.failed() == 0, "{tally}");
        sluice.stop()?;
    }
    Ok(())
}
