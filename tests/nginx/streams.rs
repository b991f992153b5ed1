//! TCP and UDP ports in nginx.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::connection::Connection;
use sluice_tests::ports::Port;
use sluice_tests::sluice::Sluice;
use sluice_tests::{artifacts, wait};
use tempfile::TempDir;

use crate::fixture::{Fixture, HOST, page};
use crate::managed::reloads;
use crate::scenarios::l4_ports::{self, config_map, with_ports};

#[tokio::test]
async fn tcp_port_forwards_to_its_service_and_sends_proxy_protocol_when_configured() -> Result<()> {
    l4_ports::tcp("nginx").await
}

#[tokio::test]
async fn udp_port_forwards_datagrams_and_replies() -> Result<()> {
    l4_ports::udp("nginx").await
}

/// Writes the ConfigMaps; a TCP port leads to the site's Service.
fn route_port(fixture: &Fixture, port: &Port) -> Result<()> {
    fixture.manifests.object(&config_map(
        "tcp",
        json!({(port.number().to_string()): "default/web:80"}),
    ))?;
    fixture.manifests.object(&config_map("udp", json!({})))
}

/// The pods that answer new connections; `None` if one does not answer.
async fn pods(port: &Port, connections: usize) -> Option<BTreeSet<String>> {
    let mut pods = BTreeSet::new();
    for _ in 0..connections {
        let mut connection = Connection::open(port.addr()).await.ok()?;
        pods.insert(connection.send(&page()).await.ok()?.pod()?.to_owned());
    }
    Some(pods)
}

async fn wait_for_pods(port: &Port, expected: &[&str], sluice: &Sluice) -> Result<()> {
    let expected: BTreeSet<String> = expected.iter().map(|pod| (*pod).to_owned()).collect();
    let all = async || (pods(port, 4).await.as_ref() == Some(&expected)).then_some(());
    let waited = wait::until("connections to reach their pods", all).await;
    waited.map(drop).with_context(|| sluice.log().tail())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_endpoint_changes_need_no_reload_and_keep_connections() -> Result<()> {
    let (fixture, port) = (Fixture::start(3, 2).await?, Port::reserve()?);
    route_port(&fixture, &port)?;
    let sluice = with_ports(&fixture.manifests, "nginx").start().await?;
    wait_for_pods(&port, &["web-0", "web-1"], &sluice).await?;
    let mut open = Connection::open(port.addr()).await?;
    let before = open.send(&page()).await?.pod().map(str::to_owned);
    fixture.endpoints(&[2])?;
    wait_for_pods(&port, &["web-2"], &sluice).await?;
    ensure!(
        open.send(&page()).await?.pod() == before.as_deref(),
        "the connection has moved"
    );
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    // Nobody is there to take it.
    fixture.endpoints(&[])?;
    let refused = async || pods(&port, 1).await.is_none().then_some(());
    wait::until("connections to end", refused).await?;
    fixture.endpoints(&[0])?;
    wait_for_pods(&port, &["web-0"], &sluice).await?;
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    sluice.stop()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_skips_a_pod_that_does_not_listen() -> Result<()> {
    let (mut fixture, port) = (Fixture::start(2, 2).await?, Port::reserve()?);
    route_port(&fixture, &port)?;
    let sluice = with_ports(&fixture.manifests, "nginx").start().await?;
    wait_for_pods(&port, &["web-0", "web-1"], &sluice).await?;
    fixture.pods[0].stop().await;
    for _ in 0..4 {
        let answered = pods(&port, 1).await.context("no answer")?;
        ensure!(answered == ["web-1".to_owned()].into(), "{answered:?}");
    }
    sluice.stop()
}

/// An nginx that says of itself that it has no streams.
fn without_streams() -> Result<(TempDir, PathBuf)> {
    let folder = TempDir::new()?;
    let (script, nginx) = (folder.path().join("nginx"), artifacts::nginx()?);
    let text = format!(
        "#!/bin/sh\n[ \"$*\" != -V ] || exec echo 'configure arguments: --with-http_ssl_module' >&2\nexec {} \"$@\"\n",
        nginx.display()
    );
    fs::write(&script, text)?;
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755))?;
    Ok((folder, script))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_stream_module_is_reported_and_http_still_served() -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    route_port(&fixture, &port)?;
    let (_folder, nginx) = without_streams()?;
    let sluice = with_ports(&fixture.manifests, "nginx")
        .nginx(&nginx)
        .start()
        .await?;
    sluice.wait_for_status(HOST, "/", 200).await?;
    let said = format!(
        "ConfigMap sluice/tcp: data.{}: expected nginx's stream module",
        port.number()
    );
    let lines = sluice.log().lines();
    let line = lines
        .iter()
        .find(|line| line.contains(&said))
        .with_context(|| sluice.log().tail())?;
    ensure!(line.contains("libnginx-mod-stream"), "{line}");
    ensure!(
        Connection::open(port.addr()).await.is_err(),
        "somebody listens"
    );
    sluice.stop()
}
