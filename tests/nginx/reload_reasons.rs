//! Reloads are counted by the reason for them.

use anyhow::{Result, ensure};
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};
use crate::metrics::sample;

/// The metric, for a reason.
async fn counted(sluice: &Sluice, reason: &str) -> f64 {
    let label = format!("reason=\"{reason}\"");
    let count = sample(sluice, "nginx_reloads_total", &[&label]).await;
    count.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reload_is_counted_by_the_first_reason_that_applies() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = |host: &str| Ingress::new("default", "changes").host(host);
    let pattern = || {
        ingress("pattern.test")
            .annotation("use-regex", "true")
            .typed_path("ImplementationSpecific", "/[a-z]+", "web", 80)
    };
    fixture.manifests.ingress(
        &Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80),
    )?;
    let options = Options::new(&fixture.manifests).data_plane("nginx");
    let options = options.arguments(vec!["--enable-metrics".to_owned()]);
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let patient = ingress("patient.test").path("/", "web", 80);
    for (change, reason) in [
        (patient.annotation("proxy-read-timeout", "77"), "profiles"),
        (pattern(), "hosts"),
        (pattern().annotation("proxy-read-timeout", "78"), "settings"),
    ] {
        ensure!(counted(&sluice, reason).await == 0.0, "{reason}");
        fixture.manifests.ingress(&change)?;
        let is_counted = async || {
            let count = counted(&sluice, reason).await;
            (count == 1.0).then_some(())
        };
        wait::until(&format!("a reload for {reason}"), is_counted).await?;
    }
    sluice.stop()
}
