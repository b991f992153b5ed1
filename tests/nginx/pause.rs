//! Requests that wait for the first tables.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use sluice_tests::echo::{Echo, EchoIdentity};
use sluice_tests::nginx::{Conf, Nginx};
use sluice_tests::ports::{Network, Port};
use sluice_tests::{http, wait};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::fake_controller::Controller;
use crate::fixture::page;
use crate::gateway::{Form, PROXY, fixed, follow, in_both_forms, server};
use crate::guest::Guest;

/// nginx with one worker whose filter follows `upstream`, and an access log.
pub(crate) async fn start(form: Form, upstream: &str, addr: SocketAddr) -> Result<Nginx> {
    let location = format!("set $sluice_route site;\n{PROXY}\naccess_log /dev/stderr status;");
    let http = format!(
        "log_format status 'logged \"$request\" $status';\n{}\n{}\n{}",
        form.directive()?,
        follow(upstream),
        server(addr, &location)
    );
    Nginx::start(Conf::write("worker_processes 1;", &http)?).await
}

/// The document that names one pod.
fn document(pod: SocketAddr) -> String {
    let directive = fixed("site", &[pod]);
    let (start, end) = (directive.find("\"tables\""), directive.rfind('}'));
    let tables = start
        .zip(end)
        .and_then(|(start, end)| directive.get(start..end))
        .unwrap_or_default();
    format!("{{\"schema\":1,{tables}}}")
}

async fn wait_until_listening(addr: SocketAddr) -> Result<()> {
    wait::until("nginx to listen", async || {
        TcpStream::connect(addr).await.ok()
    })
    .await
    .map(drop)
}

in_both_forms! {
    request_waits_for_the_first_tables
    client_disconnect_ends_a_paused_request
    paused_requests_time_out_when_the_controller_never_answers
}

async fn request_waits_for_the_first_tables(form: Form) -> Result<()> {
    let (network, folder) = (Network::reserve()?, TempDir::new()?);
    let pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
    let socket = folder.path().join("controller");
    let controllers = [
        (
            format!("unix:{}", socket.display()),
            Controller::on_socket(&socket)?,
        ),
        (
            network.pod(9).to_string(),
            Controller::on_tcp(network.pod(9)).await?,
        ),
    ];
    for (upstream, mut controller) in controllers {
        let port = Port::reserve()?;
        let nginx = start(form, &upstream, port.addr()).await?;
        wait_until_listening(port.addr()).await?;
        controller.wait_for_poll().await?;
        // Without tables nobody would answer but the upstream's own server, which does not exist.
        let (addr, sent) = (port.addr(), page());
        let waiting = tokio::spawn(async move { http::send(addr, &sent).await });
        controller.publish(document(pod.addr()));
        let response = waiting.await??;
        ensure!(response.pod() == Some("web-0"), "{response:?}");
        nginx.stop()?;
    }
    Ok(())
}

async fn client_disconnect_ends_a_paused_request(form: Form) -> Result<()> {
    let (network, port) = (Network::reserve()?, Port::reserve()?);
    let pod = Echo::start(network.pod(0), EchoIdentity::of("web", "web-0")).await?;
    let mut controller = Controller::on_tcp(network.pod(9)).await?;
    let nginx = start(form, &network.pod(9).to_string(), port.addr()).await?;
    wait_until_listening(port.addr()).await?;
    controller.wait_for_poll().await?;
    let mut client = TcpStream::connect(port.addr()).await?;
    client.write_all(&page().to_bytes()).await?;
    drop(client);
    nginx
        .log()
        .wait_for("logged \"GET / HTTP/1.1\" 499")
        .await?;
    controller.publish(document(pod.addr()));
    ensure!(http::send(port.addr(), &page()).await?.pod() == Some("web-0"));
    nginx.stop()
}

async fn paused_requests_time_out_when_the_controller_never_answers(form: Form) -> Result<()> {
    let (network, port) = (Network::reserve()?, Port::reserve()?);
    let mut controller = Controller::on_tcp(network.pod(9)).await?;
    let nginx = start(form, &network.pod(9).to_string(), port.addr()).await?;
    wait_until_listening(port.addr()).await?;
    controller.wait_for_poll().await?;
    // The upstream's own server, which does not exist.
    ensure!(http::send(port.addr(), &page()).await?.status == 502);
    nginx.stop()
}

#[tokio::test]
async fn request_that_the_filter_never_resumes_is_ended() -> Result<()> {
    let (folder, port) = (TempDir::new()?, Port::reserve()?);
    let filter = Guest::default().pauses().compile(folder.path())?;
    let conf = format!(
        "sluice_wasm {};\nsluice_filter x;\n{}",
        filter.display(),
        server(port.addr(), PROXY)
    );
    let nginx = Nginx::start(Conf::write("worker_processes 1;", &conf)?).await?;
    wait_until_listening(port.addr()).await?;
    ensure!(http::send(port.addr(), &page()).await?.status == 504);
    nginx.stop()
}
