//! Active health checks, with Envoy.

use anyhow::{Context, Result, ensure};
use sluice_tests::certificate::Pair;
use sluice_tests::echo::{Echo, EchoIdentity, Setup, Speaks};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::Sluice;
use sluice_tests::tls::server_config;
use sluice_tests::wait;
use sluice_tests::zones::answering;

use crate::fixture::HOST;
use crate::scenarios::health_checks;

#[tokio::test]
async fn pods_that_fail_their_checks_get_no_requests() -> Result<()> {
    health_checks::failing_pods_get_no_requests("envoy", &[]).await
}

#[tokio::test]
async fn pods_that_fail_their_checks_get_no_requests_in_route_scopes() -> Result<()> {
    health_checks::failing_pods_get_no_requests("envoy", &["--scopes-from", "0"]).await
}

#[tokio::test]
async fn pods_with_tls_are_checked_with_tls() -> Result<()> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let pair = Pair::of(&["pod.test"])?;
    let mut pods = Vec::new();
    for n in 0..2 {
        let setup = Setup {
            tls: Some(server_config(pair.identity()?)?),
            speaks: Speaks::Tls,
            ..Setup::default()
        };
        let identity = EchoIdentity::of("web", &format!("web-{n}"));
        pods.push(Echo::start_with(network.pod(n), identity, setup).await?);
    }
    let addresses: Vec<_> = pods.iter().map(Echo::addr).collect();
    manifests.service("default", "web", 443, &addresses)?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 443)
        .annotation("backend-protocol", "HTTPS")
        .annotation("sluice.dev/health-check-path", "/healthz")
        .annotation("sluice.dev/health-check-interval", "1s");
    manifests.ingress(&ingress)?;
    let failing = Answer {
        status: 404,
        ..Answer::default()
    };
    pods[1].script(Script::echo().answer("/healthz", failing));
    let sluice = Sluice::start(&manifests).await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let healthy = async || (answering(&sluice, HOST).await.ok()? == ["web-0"]).then_some(());
    let waited = wait::until("the other pod to be left alone", healthy).await;
    waited.with_context(|| sluice.log().tail())?;
    pods[1].script(Script::echo());
    sluice.wait_for_pod(HOST, "web-1").await?;
    ensure!(pods[0].hits() > 0);
    sluice.stop()
}
