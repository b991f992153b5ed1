//! Pods that are checked by the controller, the same for every data plane.

use anyhow::{Context, Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::{Answer, Script};
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use sluice_tests::zones::answering;

use crate::fixture::{Fixture, HOST};

const PATH: &str = "/healthz";

/// It serves, and says that it is not healthy.
fn unhealthy() -> Script {
    let answer = Answer {
        status: 503,
        ..Answer::default()
    };
    Script::echo().answer(PATH, answer)
}

async fn wait_for_pods(sluice: &Sluice, pods: &[&str]) -> Result<()> {
    let exactly = async || (answering(sluice, HOST).await.ok()? == pods).then_some(());
    let waited = wait::until(&format!("{pods:?} to serve"), exactly).await;
    waited.map(drop).with_context(|| sluice.log().tail())
}

/// A pod that fails its checks gets no requests until it passes them again; when all fail, all serve. No request fails.
pub(crate) async fn failing_pods_get_no_requests(data_plane: &str, flags: &[&str]) -> Result<()> {
    let fixture = Fixture::start(3, 3).await?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80)
        .annotation("sluice.dev/health-check-path", PATH)
        .annotation("sluice.dev/health-check-interval", "1s")
        .annotation("sluice.dev/health-check-unhealthy-threshold", "2");
    fixture.manifests.ingress(&ingress)?;
    // One fails from the beginning.
    fixture.pods[2].script(unhealthy());
    let sluice = Options::new(&fixture.manifests)
        .data_plane(data_plane)
        .arguments(flags.iter().map(|flag| (*flag).to_owned()).collect())
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    wait_for_pods(&sluice, &["web-0", "web-1"]).await?;
    fixture.pods[0].script(unhealthy());
    wait_for_pods(&sluice, &["web-1"]).await?;
    fixture.pods[1].script(unhealthy());
    wait_for_pods(&sluice, &["web-0", "web-1", "web-2"]).await?;
    fixture.pods[2].script(Script::echo());
    wait_for_pods(&sluice, &["web-2"]).await?;
    fixture.pods[0].script(Script::echo());
    fixture.pods[1].script(Script::echo());
    wait_for_pods(&sluice, &["web-0", "web-1", "web-2"]).await?;
    // Without checks nobody is asked, and nobody is left out.
    fixture.pods[0].script(unhealthy());
    wait_for_pods(&sluice, &["web-1", "web-2"]).await?;
    let plain = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    fixture.manifests.ingress(&plain)?;
    wait_for_pods(&sluice, &["web-0", "web-1", "web-2"]).await?;
    let hits = fixture.pods[0].hits();
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    ensure!(fixture.pods[0].hits() == hits, "it is still checked");
    sluice.stop()
}
