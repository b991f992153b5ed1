//! nginx knows nothing of zones: its filter is told by the configuration in which one it runs.

use anyhow::{Result, bail, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::Options;
use sluice_tests::wait;
use sluice_tests::zones::{answering, place};

use crate::fixture::{Fixture, HOST};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_zone_serves_until_it_has_no_pods() -> Result<()> {
    let fixture = Fixture::start(4, 4).await?;
    let [a, b, c, d] = &fixture.pods[..] else {
        bail!("expected four pods")
    };
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&ingress.annotation("sluice.dev/zone-preference", "prefer"))?;
    place(
        &fixture.manifests,
        "web",
        &[(a, "a"), (b, "b"), (c, "a"), (d, "b")],
    )?;
    let options = Options::new(&fixture.manifests).data_plane("nginx");
    let sluice = options
        .arguments(vec!["--zone=a".to_owned()])
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    ensure!(
        answering(&sluice, HOST).await? == ["web-0", "web-2"],
        "{:?}",
        answering(&sluice, HOST).await?
    );
    place(&fixture.manifests, "web", &[(b, "b"), (d, "b")])?;
    let far = async || (answering(&sluice, HOST).await.ok()? == ["web-1", "web-3"]).then_some(());
    wait::until("the other zone to serve", far).await?;
    sluice.stop()
}
