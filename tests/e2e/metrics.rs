//! Health and metrics, as the kubelet and Prometheus read them.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use sluice_tests::http;
use sluice_tests::manifests::Ingress;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;

use crate::fixture::{Fixture, HOST};

/// The value of one sample, named with its labels as the text format writes them; labels that say who measures are
/// left out.
pub(crate) async fn sample(health: SocketAddr, name: &str, labels: &[&str]) -> Result<Option<f64>> {
    let page = http::get(health, "metrics", "/metrics").await?;
    ensure!(page.status == 200, "/metrics answers {}", page.status);
    let text = page.text();
    let line = text.lines().find(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    });
    line.map(|line| {
        line.rsplit(' ')
            .next()
            .unwrap_or_default()
            .parse()
            .context("a number")
    })
    .transpose()
}

#[tokio::test(flavor = "multi_thread")]
async fn serving_controller_is_healthy_and_exports_metrics() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let health = http::get(sluice.health(), "health", "/healthz").await?;
    ensure!(
        health.status == 200 && health.text().starts_with("ok\n"),
        "{} {}",
        health.status,
        health.text()
    );
    ensure!(
        http::get(sluice.health(), "health", "/configuration/backends")
            .await?
            .status
            == 404
    );
    for _ in 0..5 {
        sluice.get(HOST, "/").await?;
    }
    let prefix = "nginx_ingress_controller";
    let requests = async || {
        let name = format!("{prefix}_nginx_process_requests_total");
        sample(sluice.health(), &name, &[])
            .await
            .ok()
            .flatten()
            .filter(|requests| *requests >= 5.0)
    };
    wait::until("the requests to be counted", requests).await?;
    for (name, labels) in [
        (
            format!("{prefix}_build_info"),
            vec!["controller_class=\"k8s.io/ingress-nginx\""],
        ),
        (format!("{prefix}_config_last_reload_successful"), vec![]),
        (format!("{prefix}_nginx_process_num_procs"), vec![]),
    ] {
        ensure!(
            sample(sluice.health(), &name, &labels).await? == Some(1.0),
            "{name}"
        );
    }
    let memory = sample(sluice.health(), "process_resident_memory_bytes", &[]).await?;
    ensure!(
        memory.is_some_and(|bytes| bytes > 0.0),
        "the controller's own memory is {memory:?}"
    );
    let is_orphan = sample(
        sluice.health(),
        &format!("{prefix}_orphan_ingress"),
        &["no-endpoint"],
    )
    .await?;
    ensure!(is_orphan.is_none(), "the Ingress has endpoints");
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn ingress_without_endpoints_is_an_orphan() -> Result<()> {
    let fixture = Fixture::start(1, 0).await?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let name = "nginx_ingress_controller_orphan_ingress";
    let is_orphan = async || {
        let labels = [
            "namespace=\"default\"",
            "ingress=\"web\"",
            "type=\"no-endpoint\"",
        ];
        sample(sluice.health(), name, &labels).await.ok().flatten()
    };
    wait::until("the orphan to be counted", is_orphan).await?;
    fixture.endpoints(&[0])?;
    let is_served = async || {
        let found = sample(sluice.health(), name, &[]).await.ok()?;
        found.is_none().then_some(())
    };
    wait::until("the orphan to have endpoints", is_served).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_counted_by_severity_and_reason_code() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = Ingress::new("default", "web").host("web.test");
    let ingress = ingress.path("/", "web", 80);
    fixture
        .manifests
        .ingress(&ingress.annotation("proxy-read-timeout", "soon"))?;
    let sluice = Sluice::start(&fixture.manifests).await?;
    let reports = async || {
        let name = "nginx_ingress_controller_reports";
        let labels = ["severity=\"warning\"", "reason=\"InvalidValue\""];
        let count = sample(sluice.health(), name, &labels).await.ok()??;
        (count >= 1.0).then_some(())
    };
    wait::until("the report to be counted", reports).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_per_ingress_when_enabled() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let sluice = Options::new(&fixture.manifests)
        .arguments(vec!["--enable-metrics".to_owned()])
        .start()
        .await?;
    for _ in 0..3 {
        sluice.get(HOST, "/").await?;
    }
    sluice.get("nobody.test", "/").await?;
    let labels = [
        "ingress=\"web\"",
        "service=\"web\"",
        "status=\"200\"",
        "method=\"GET\"",
        "path=\"/\"",
    ];
    let counted = async || {
        let name = "nginx_ingress_controller_requests";
        sample(sluice.health(), name, &labels)
            .await
            .ok()
            .flatten()
            .filter(|requests| *requests >= 3.0)
    };
    wait::until("the requests to be counted", counted).await?;
    for name in [
        "request_duration_seconds",
        "connect_duration_seconds",
        "header_duration_seconds",
        "response_duration_seconds",
        "response_size",
    ] {
        let count = format!("nginx_ingress_controller_{name}_count");
        let measured = sample(sluice.health(), &count, &labels).await?;
        ensure!(measured >= Some(3.0), "{name}: {measured:?}");
    }
    let sum = async |name: &str| {
        let name = format!("nginx_ingress_controller_{name}_sum");
        sample(sluice.health(), &name, &labels)
            .await?
            .with_context(|| format!("no {name}"))
    };
    ensure!(sum("response_size").await? > 0.0, "responses of nothing");
    // Somebody has connected first, and that is a part of its request.
    let (connecting, all) = (
        sum("connect_duration_seconds").await?,
        sum("request_duration_seconds").await?,
    );
    ensure!(
        connecting > 0.0 && connecting < all,
        "{connecting} s of {all} s"
    );
    let page = http::get(sluice.health(), "metrics", "/metrics")
        .await?
        .text();
    ensure!(!page.contains("nobody.test"), "clients choose no labels");
    sluice.stop()
}
