//! The candidate of each try.

use std::time::Duration;

use anyhow::{Result, ensure};
use sluice_tests::echo::Echo;
use sluice_tests::http;
use sluice_tests::load::Load;
use sluice_tests::ports::Network;
use sluice_tests::script::Script;

use crate::fixture::{HOST, page};
use crate::gateway::{Fixed, Form, in_both_forms};
use crate::pooled_pod::PooledPod;
use crate::scenarios::uploads;

const UPSTREAM_HEADERS: &str = "add_header x-tried \"$upstream_addr\" always; add_header x-status \"$upstream_status\" always;";

in_both_forms! {
    failed_attempt_goes_to_the_next_candidate
    dead_pooled_connection_uses_up_no_candidate
    dead_pooled_connection_and_dead_candidate_are_distinguished
}

async fn failed_attempt_goes_to_the_next_candidate(form: Form) -> Result<()> {
    let network = Network::reserve()?;
    let mut pods = Echo::start_all("web", &network.pods(3)).await?;
    pods[0].stop().await;
    pods[1].script(Script::status(503));
    let addrs: Vec<_> = pods.iter().map(Echo::addr).collect();
    let gateway = Fixed::start(
        form,
        &addrs,
        &format!("proxy_next_upstream error http_503; {UPSTREAM_HEADERS}"),
    )
    .await?;
    let tally = Load::new(gateway.addr(), page())
        .max_requests(60)
        .run_for(Duration::from_secs(20))
        .await?;
    ensure!(
        tally.failed() == 0 && tally.pod("web-2") == 60,
        "{tally}; {:?}",
        tally.by_pod
    );

    pods[1].stop().await;
    pods[2].stop().await;
    let refused = http::get(gateway.addr(), HOST, "/").await?;
    let tried = refused.header("x-tried").unwrap_or_default();
    ensure!(
        refused.status == 502 && tried.split(", ").count() == 3,
        "{refused:?}"
    );
    for pod in &pods {
        ensure!(
            tried.contains(&pod.addr().to_string()),
            "{} was not tried: {tried}",
            pod.name()
        );
    }
    gateway.nginx.stop()
}

async fn dead_pooled_connection_uses_up_no_candidate(form: Form) -> Result<()> {
    let network = Network::reserve()?;
    let pod = PooledPod::start(network.pod(0), 1).await?;
    let gateway = Fixed::start(form, &[pod.addr()], UPSTREAM_HEADERS).await?;
    let first = http::get(gateway.addr(), HOST, "/").await?;
    ensure!(
        first.status == 200 && first.header("x-status") == Some("200"),
        "{first:?}"
    );
    // Its connection is in the pool, and closes with the next request on it.
    let second = http::get(gateway.addr(), HOST, "/").await?;
    let twice = format!("{0}, {0}", pod.addr());
    ensure!(
        second.status == 200 && second.header("x-tried") == Some(&twice),
        "{second:?}"
    );
    gateway.nginx.stop()
}

async fn dead_pooled_connection_and_dead_candidate_are_distinguished(form: Form) -> Result<()> {
    let network = Network::reserve()?;
    let (short, gone) = (PooledPod::start(network.pod(0), 1).await?, network.pod(1));
    let gateway = Fixed::start(
        form,
        &[short.addr(), gone],
        &format!("proxy_next_upstream error; {UPSTREAM_HEADERS}"),
    )
    .await?;
    for _ in 0..6 {
        let response = http::get(gateway.addr(), HOST, "/").await?;
        ensure!(response.status == 200, "{response:?}");
    }
    gateway.nginx.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_go_to_the_pod_that_is_there() -> Result<()> {
    uploads::go_to_the_pod_that_is_there("nginx").await
}
