//! A port that another process has when a data plane wants it: nothing calls itself ready without it, and it is taken once it is
//! free.

use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use sluice_tests::certificate::{self, Pair};
use sluice_tests::connection::Connection;
use sluice_tests::data_plane::{Authority, CONTROLLER, DataPlane};
use sluice_tests::http::{self, Request};
use sluice_tests::log::Log;
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::Port;
use sluice_tests::sluice::{self, Options, Sluice};
use sluice_tests::{artifacts, unix, wait};
use tempfile::TempDir;

use crate::fixture::{Fixture, HOST};
use crate::scenarios::l4_ports::{config_map, with_ports};

const TLS_HOST: &str = "tls.test";

/// An Envoy that waits for a file: the controller has looked at its ports by then.
fn slow_envoy(folder: &TempDir) -> Result<(PathBuf, PathBuf)> {
    let (place, go) = (folder.path().join("slow"), folder.path().join("go"));
    let (program, wanted) = (artifacts::envoy()?, go.display());
    let program = program.display();
    let text = format!(
        "#!/bin/sh\ncase \" $* \" in *--file-flush-interval-msec*) while [ ! -e {wanted} ]; do sleep 0.05; done;; esac\nexec {program} \"$@\"\n"
    );
    fs::write(&place, text)?;
    fs::set_permissions(&place, Permissions::from_mode(0o755))?;
    Ok((place, go))
}

async fn said(log: &Log, text: &str) -> Result<()> {
    let is_said = async || {
        log.lines()
            .iter()
            .any(|line| line.contains(text))
            .then_some(())
    };
    wait::until(&format!("{text:?} in the log"), is_said)
        .await
        .map(drop)
        .with_context(|| log.tail())
}

fn take(addrs: &[SocketAddr]) -> Result<Vec<TcpListener>> {
    let taken = addrs.iter().map(TcpListener::bind);
    Ok(taken.collect::<std::io::Result<_>>()?)
}

/// Neither its health nor its log says that it serves.
async fn ensure_not_ready(sluice: &Sluice) -> Result<()> {
    let health = http::get(sluice.health(), "health", "/healthz").await?;
    ensure!(health.status == 500, "{}", health.text());
    let lines = sluice.log().lines();
    let mut serving = lines
        .iter()
        .filter(|line| line.contains("INFO serving http"));
    ensure!(serving.next().is_none(), "{}", sluice.log().tail());
    Ok(())
}

/// Envoy has refused more than all listeners together and each of these alone.
async fn wait_for_retries(sluice: &Sluice, refused: usize) -> Result<()> {
    let admin = sluice.run_dir().join("envoy-admin.sock");
    let rejected = async || {
        let counter = "listener_manager.lds.update_rejected";
        let text = unix::get(&admin, &format!("/stats?filter={counter}"))
            .await
            .ok()?;
        let count: usize = text.rsplit_once(": ")?.1.trim().parse().ok()?;
        (count > 1 + refused).then_some(())
    };
    wait::until("a listener to be sent again", rejected)
        .await
        .map(drop)
        .with_context(|| sluice.log().tail())
}

/// Whichever of its ports are taken.
#[tokio::test(flavor = "multi_thread")]
async fn envoy_of_the_controller_serves_when_every_port_is_its_own() -> Result<()> {
    for (takes_http, takes_https) in [(true, false), (false, true), (true, true)] {
        let (fixture, folder) = (Fixture::start(1, 1).await?, tempfile::tempdir()?);
        let (envoy, go) = slow_envoy(&folder)?;
        let pair = Pair::of(&[TLS_HOST])?;
        pair.store(&fixture.manifests, "tls")?;
        fixture
            .manifests
            .object(&certificate::presented("tls", TLS_HOST, "tls"))?;
        let sluice = Options::new(&fixture.manifests).envoy(&envoy).spawn()?;
        said(sluice.log(), "envoy started").await?;
        let addrs = [(takes_http, sluice.http()), (takes_https, sluice.https())];
        let taken = addrs.into_iter().filter(|(is_taken, _)| *is_taken);
        let taken: Vec<SocketAddr> = taken.map(|(_, addr)| addr).collect();
        let held = take(&taken)?;
        fs::write(&go, "")?;
        wait_for_retries(&sluice, taken.len()).await?;
        ensure_not_ready(&sluice).await?;
        drop(held);
        let sluice = sluice.ready().await?;
        sluice::wait_for_status(sluice.http(), HOST, "/", 200).await?;
        // However often it was tried, and whoever says it.
        let lines = sluice.log().lines();
        let warns = |line: &&String| line.contains(" WARN ") || line.contains("ERROR ");
        let warnings = lines.iter().filter(warns);
        let said = warnings.filter(|line| line.contains("in use")).count();
        ensure!(said == taken.len(), "{}", sluice.log().tail());
        // No tenant is at fault.
        certificate::presents(&sluice, TLS_HOST, &pair).await?;
        let mut connection = Connection::open_tls(sluice.https(), TLS_HOST).await?;
        let answer = connection.send(&Request::get(TLS_HOST, "/")).await?;
        ensure!(answer.status == 200, "{answer:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn envoy_elsewhere_is_ready_when_it_listens() -> Result<()> {
    let (fixture, authority) = (Fixture::start(1, 1).await?, Authority::new()?);
    let (xds, identity) = (Port::reserve()?, authority.identity(CONTROLLER)?);
    let options = Options::new(&fixture.manifests).without_data_plane();
    let certificates = identity.folder().display().to_string();
    let controller = options
        .xds(xds.addr().to_string())
        .arguments(vec!["--xds-certificates".to_owned(), certificates])
        .start()
        .await?;
    let held = take(&[controller.http(), controller.https()])?;
    let of_data_plane = authority.identity("data-plane")?;
    let data_plane = DataPlane::start(xds.addr(), &of_data_plane).await?;
    said(controller.log(), "in use").await?;
    let unready = async || {
        let page = data_plane.page("/readyz").await.ok()?;
        page.text()
            .contains("it has no listener")
            .then_some(page.status)
    };
    let (status, _) = wait::until("the reason", unready).await?;
    ensure!(status == 503, "{status}");
    drop(held);
    data_plane.ready().await?;
    sluice::wait_for_status(controller.http(), HOST, "/", 200).await?;
    data_plane.stop()
}

/// nginx listens on its ports one after the other, and ends when it cannot have one: until then it listens on some.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_serves_when_it_has_all_of_its_ports() -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    let targets = json!({(port.number().to_string()): "default/web:80"});
    fixture.manifests.object(&config_map("tcp", targets))?;
    fixture.manifests.object(&config_map("udp", json!({})))?;
    let held = take(&[port.addr()])?;
    let sluice = with_ports(&fixture.manifests, "nginx").spawn()?;
    said(sluice.log(), "nginx exited unexpectedly").await?;
    ensure_not_ready(&sluice).await?;
    drop(held);
    let sluice = sluice.ready().await?;
    sluice::wait_for_status(sluice.http(), HOST, "/", 200).await?;
    Ok(())
}

/// No Ingress waits or is held back for a port, and nginx takes it once it is free.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_that_cannot_have_a_new_port_serves_on_and_takes_it_later() -> Result<()> {
    let (fixture, port) = (Fixture::start(1, 1).await?, Port::reserve()?);
    fixture.manifests.object(&config_map("tcp", json!({})))?;
    fixture.manifests.object(&config_map("udp", json!({})))?;
    let sluice = with_ports(&fixture.manifests, "nginx").start().await?;
    sluice::wait_for_status(sluice.http(), HOST, "/", 200).await?;
    let held = take(&[port.addr()])?;
    let targets = json!({(port.number().to_string()): "default/web:80"});
    fixture.manifests.object(&config_map("tcp", targets))?;
    let late = Ingress::new("default", "late").host("late.test");
    fixture.manifests.ingress(&late.path("/", "web", 80))?;
    said(sluice.log(), "reload failed although").await?;
    for host in ["late.test", HOST] {
        sluice::wait_for_status(sluice.http(), host, "/", 200).await?;
    }
    let lines = sluice.log().lines();
    let rejected = lines.iter().any(|line| line.contains("Ingress default/"));
    ensure!(!rejected, "{}", sluice.log().tail());
    drop(held);
    sluice::wait_for_status(port.addr(), "any.test", "/", 200).await?;
    Ok(())
}
