//! One bad object never changes another object's traffic, and is never ignored in silence.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::sluice::Sluice;

use crate::fixture::{Fixture, HOST};

#[tokio::test]
async fn bad_manifests_are_reported_and_good_ones_served() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    fixture
        .manifests
        .write("garbage.yaml", "kind: Ingress\nmetadata: [\n")?;
    fixture.manifests.object(&json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": { "namespace": "default", "name": "broken" },
        "spec": { "ingressClassName": "nginx", "rules": "none" },
    }))?;
    fixture.manifests.ingress(
        &Ingress::new("default", "dangling")
            .host("dangling.test")
            .path("/", "no", 80),
    )?;
    let sluice = Sluice::start(&fixture.manifests).await?;

    ensure!(sluice.get(HOST, "/").await?.status == 200);
    ensure!(sluice.get("dangling.test", "/").await?.status == 503);
    for name in ["garbage.yaml", "broken", "dangling"] {
        sluice.log().wait_for(name).await?;
    }
    sluice.stop()
}

#[tokio::test]
async fn folder_without_a_manifest_is_named_and_serves_404_until_there_is_one() -> Result<()> {
    let manifests = Manifests::folder()?;
    let sluice = Sluice::start(&manifests).await?;
    let said = format!("{}: no manifests in it", manifests.dir().display());
    sluice.log().wait_for(&said).await?;
    ensure!(sluice.get(HOST, "/").await?.status == 404);
    manifests.ingress_class("nginx", "k8s.io/ingress-nginx")?;
    manifests.ingress(
        &Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80),
    )?;
    sluice.wait_for_status(HOST, "/", 503).await?;
    sluice.stop()
}

#[tokio::test]
async fn manifest_that_breaks_and_recovers_affects_no_other() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let place = sluice.log().len();
    fixture.manifests.write("late.yaml", "{")?;
    sluice.log().wait_after(place, "late.yaml").await?;
    ensure!(sluice.get(HOST, "/").await?.status == 200);
    let late = Ingress::new("default", "late")
        .host("late.test")
        .path("/", "web", 80);
    fixture
        .manifests
        .write("late.yaml", &late.to_json().to_string())?;
    sluice.wait_for_status("late.test", "/", 200).await?;
    sluice.stop()
}

#[tokio::test]
async fn oversized_annotations_are_rejected_and_others_served() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let huge = "x".repeat(10 << 20);
    let ingress = Ingress::new("default", "huge")
        .host("huge.test")
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&ingress.annotation("nginx.ingress.kubernetes.io/proxy-body-size", &huge))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    ensure!(sluice.get(HOST, "/").await?.status == 200);
    ensure!(sluice.get("huge.test", "/").await?.status == 503);
    sluice
        .log()
        .wait_for("Ingress default/huge: metadata.annotations: expected at most 262144 bytes")
        .await?;
    sluice.stop()
}
