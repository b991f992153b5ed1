//! Requests are counted by what nginx writes down about them.

use anyhow::{Result, ensure};
use serde_json::json;
use sluice_tests::http::{self, Request};
use sluice_tests::manifests::Ingress;
use sluice_tests::script::Script;
use sluice_tests::sluice::{Options, Sluice};
use sluice_tests::wait;
use tokio::net::TcpStream;

use crate::fixture::{Fixture, HOST};
use crate::managed::reloads;

/// A sample with these labels.
pub(crate) async fn sample(sluice: &Sluice, name: &str, labels: &[&str]) -> Option<f64> {
    let page = http::get(sluice.health(), "metrics", "/metrics")
        .await
        .ok()?
        .text();
    let prefix = format!("nginx_ingress_controller_{name}{{");
    let is_meant =
        |line: &&str| line.starts_with(&prefix) && labels.iter().all(|label| line.contains(label));
    page.lines()
        .find(is_meant)?
        .rsplit(' ')
        .next()?
        .parse()
        .ok()
}

async fn wait_for_count(sluice: &Sluice, labels: &[&str], count: f64) -> Result<()> {
    let is_counted = async || {
        sample(sluice, "requests", labels)
            .await
            .filter(|requests| *requests >= count)
    };
    let (requests, _) = wait::until(&format!("{count} requests of {labels:?}"), is_counted).await?;
    ensure!(requests == count, "{labels:?}: {requests}");
    Ok(())
}

const HISTOGRAMS: [&str; 5] = [
    "request_duration_seconds",
    "header_duration_seconds",
    "response_duration_seconds",
    "response_size",
    "request_size",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_counted_per_ingress_across_reloads() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let moved = Ingress::new("default", "moved")
        .host("moved.test")
        .path("/", "web", 80);
    fixture
        .manifests
        .ingress(&moved.annotation("permanent-redirect", "https://elsewhere.test/"))?;
    let options = Options::new(&fixture.manifests)
        .data_plane("nginx")
        .workers(2);
    let sluice = options
        .arguments(vec!["--enable-metrics".to_owned()])
        .start()
        .await?;
    sluice.wait_for_status("moved.test", "/", 301).await?;
    for n in 0..50 {
        ensure!(sluice.get(HOST, &format!("/{n}")).await?.status == 200);
    }
    sluice.get("nobody.test", "/").await?;
    // Whatever a client says, it is no label.
    http::send(sluice.http(), &Request::new("MADEUP", HOST, "/\"}")).await?;
    fixture.manifests.ingress(
        &Ingress::new("default", "more")
            .host("more.test")
            .path("/", "web", 80)
            .annotation("proxy-read-timeout", "77"),
    )?;
    sluice.wait_for_status("more.test", "/", 200).await?;
    ensure!(reloads(&sluice) == 1, "{}", sluice.log().tail());
    fixture.pods[0].script(Script::status(503));
    for _ in 0..10 {
        ensure!(sluice.get(HOST, "/").await?.status == 503);
    }
    let web = [
        "ingress=\"web\"",
        "service=\"web\"",
        "path=\"/\"",
        "host=\"web.test\"",
        "method=\"GET\"",
    ];
    let of = |status: &'static str| [&web[..], &[status]].concat();
    wait_for_count(&sluice, &of("status=\"200\""), 50.0).await?;
    wait_for_count(&sluice, &of("status=\"503\""), 10.0).await?;
    let moved = ["ingress=\"moved\"", "status=\"301\""];
    ensure!(sample(&sluice, "requests", &moved).await.is_some());
    for name in HISTOGRAMS {
        let count = sample(&sluice, &format!("{name}_count"), &of("status=\"200\"")).await;
        ensure!(count == Some(50.0), "{name}: {count:?}");
    }
    let page = http::get(sluice.health(), "metrics", "/metrics")
        .await?
        .text();
    ensure!(
        !page.contains("nobody.test") && !page.contains("MADEUP"),
        "clients choose no labels"
    );
    sluice.stop()
}

/// The error service is asked with another location than the client's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn error_page_counts_for_the_ingress_that_failed() -> Result<()> {
    let fixture = Fixture::start(2, 1).await?;
    fixture
        .manifests
        .service("default", "pages", 80, &[fixture.pods[1].addr()])?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = ingress
        .annotation("custom-http-errors", "404")
        .annotation("default-backend", "pages");
    fixture.manifests.ingress(&ingress)?;
    fixture.manifests.object(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "sluice"}, "data": {},
    }))?;
    let options = Options::new(&fixture.manifests).data_plane("nginx");
    let sluice = options
        .arguments(vec!["--enable-metrics".to_owned()])
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    fixture.pods[0].script(Script::status(404));
    ensure!(sluice.get(HOST, "/missing").await?.pod() == Some("web-1"));
    let is_counted = async || {
        sample(
            &sluice,
            "requests",
            &["ingress=\"web\"", "service=\"pages\""],
        )
        .await
    };
    wait::until("the request to be counted", is_counted).await?;
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_and_processes_of_nginx_are_shown() -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let ingress = Ingress::new("default", "web").host(HOST);
    fixture.manifests.ingress(&ingress.path("/", "web", 80))?;
    let options = Options::new(&fixture.manifests).data_plane("nginx");
    let sluice = options.start().await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let shown = async |name: &str, labels: &[&str], least: f64| {
        let name = format!("nginx_process_{name}");
        let is_shown = async || {
            let value = sample(&sluice, &name, labels).await?;
            (value >= least).then_some(value)
        };
        let (value, _) = wait::until(&format!("{name} {labels:?} >= {least}"), is_shown).await?;
        anyhow::Ok(value)
    };
    let before = shown("connections", &["active"], 1.0).await?;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(TcpStream::connect(sluice.http()).await?);
    }
    shown("connections", &["active"], before + 3.0).await?;
    shown("requests_total", &[], 1.0).await?;
    shown("connections_total", &["handled"], 4.0).await?;
    // A master, and at least one worker.
    shown("num_procs", &[], 2.0).await?;
    shown("resident_memory_bytes", &[], 1.0).await?;
    let status = http::get_unix(&sluice.admin_socket(), "/nginx_status").await?;
    let text = status.text();
    ensure!(
        text.lines().count() == 4 && text.starts_with("Active connections: "),
        "{text}"
    );
    drop(open);
    sluice.stop()
}
