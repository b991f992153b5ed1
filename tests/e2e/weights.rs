//! Pods that say their weight.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::Request;
use sluice_tests::load::Load;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::script::Script;
use sluice_tests::sluice::Sluice;
use sluice_tests::tally::Tally;
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};

const REQUESTS: u64 = 600;

type Annotations = &'static [(&'static str, &'static str)];

/// A way to choose, and whether latencies have a say in it.
const ALGORITHMS: [(&str, Annotations, bool); 9] = [
    ("round-robin", &[], false),
    ("least-conn", &[("load-balance", "least_conn")], false),
    ("ewma", &[("load-balance", "ewma")], true),
    ("peak-ewma", &[("load-balance", "peak_ewma")], true),
    ("hash", &[("upstream-hash-by", "$request_uri")], false),
    (
        "bounded",
        &[
            ("upstream-hash-by", "$request_uri"),
            ("sluice.dev/hash-load-factor", "200"),
        ],
        false,
    ),
    (
        "subset",
        &[
            ("upstream-hash-by", "$request_uri"),
            ("upstream-hash-by-subset", "true"),
        ],
        false,
    ),
    ("balanced", &[("affinity", "cookie")], false),
    (
        "persistent",
        &[("affinity", "cookie"), ("affinity-mode", "persistent")],
        false,
    ),
];

/// A Pod of the site that says its weight.
pub(crate) fn set_pod_weight(manifests: &Manifests, pod: &str, weight: &str) -> Result<()> {
    let annotations = json!({ "sluice.dev/weight": weight });
    let metadata = json!({ "namespace": "default", "name": pod, "annotations": annotations });
    manifests.object(&json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata }))
}

impl Fixture {
    /// Waits until a pod gets none of the requests that are sent meanwhile.
    pub(crate) async fn wait_until_idle_under_load(
        &self,
        sluice: &Sluice,
        pod: usize,
    ) -> Result<()> {
        let pod = &self.pods[pod];
        let quiet = async || {
            let hits = pod.hits();
            for _ in 0..20 {
                sluice.get(HOST, "/").await.ok()?;
            }
            (pod.hits() == hits).then_some(())
        };
        wait::until(&format!("{} to be left alone", pod.name()), quiet)
            .await
            .map(drop)
    }
}

/// Requests of which no two have one path or a cookie.
async fn run_load(sluice: &Sluice, host: &str, connections: usize) -> Result<Tally> {
    let requests = (0..REQUESTS)
        .map(|n| Request::get(host, &format!("/{n}")))
        .collect();
    let load = Load::of(sluice.http(), requests)
        .connections(connections)
        .max_requests(REQUESTS);
    let tally = load.run_for(wait::LIMIT).await?;
    ensure!(
        tally.failed() == 0 && tally.total() == REQUESTS,
        "{host}: {tally}"
    );
    Ok(tally)
}

#[tokio::test]
async fn every_algorithm_honors_pod_weights() -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    fixture.place_in_zones("web", &[(0, "a"), (1, "a"), (2, "a")])?;
    set_pod_weight(&fixture.manifests, "web-0", "3")?;
    for (name, annotations, _) in ALGORITHMS {
        let pods: Vec<_> = fixture.pods.iter().map(|pod| pod.addr()).collect();
        fixture.manifests.service("default", name, 80, &pods)?;
        fixture.place_in_zones(name, &[(0, "a"), (1, "a"), (2, "a")])?;
        let ingress = Ingress::new("default", name)
            .host(&format!("{name}.test"))
            .path("/", name, 80);
        let with = |ingress: Ingress, (key, value): &(&str, &str)| ingress.annotation(key, value);
        fixture
            .manifests
            .ingress(&annotations.iter().fold(ingress, with))?;
    }
    // Pods have something to do all the time: with next to nothing open, `least_conn` has nothing to compare.
    fixture
        .pods
        .iter()
        .for_each(|pod| pod.script(Script::echo().delay(Duration::from_millis(5))));
    let sluice = Sluice::start(&fixture.manifests).await?;
    for (name, _, by_latency) in ALGORITHMS {
        let tally = run_load(&sluice, &format!("{name}.test"), 12).await?;
        let share = tally.pod("web-0") as f64 / tally.total() as f64;
        // Three of five; where latencies count, too, the heavy one is still the first.
        let expected = if by_latency { 0.4..1.0 } else { 0.45..0.75 };
        ensure!(
            expected.contains(&share),
            "{name}: {share}: {:?}",
            tally.by_pod
        );
    }
    sluice.stop()
}

#[tokio::test]
async fn pod_weight_changes_under_load_and_zero_removes_the_pod() -> Result<()> {
    let fixture = Fixture::start(2, 2).await?;
    fixture.place_in_zones("web", &[(0, "a"), (1, "a")])?;
    set_pod_weight(&fixture.manifests, "web-0", "9")?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let tally = run_load(&sluice, HOST, 2).await?;
    ensure!(
        tally.pod("web-0").abs_diff(REQUESTS * 9 / 10) <= 2,
        "{:?}",
        tally.by_pod
    );
    set_pod_weight(&fixture.manifests, "web-0", "0")?;
    fixture.wait_until_idle_under_load(&sluice, 0).await?;
    set_pod_weight(&fixture.manifests, "web-0", "1")?;
    sluice.wait_for_pod(HOST, "web-0").await?;
    sluice.stop()
}
