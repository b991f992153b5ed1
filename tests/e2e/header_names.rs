//! Names of headers over HTTP/1.1 and the reason of a status pass as they were written, in both directions, as through nginx.

use anyhow::{Context, Result, ensure};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::setup::{Plane, on_every_plane};

on_every_plane!(names_and_reasons_pass_as_they_were_written);

const HOST: &str = "case.test";
/// In every case that there is.
const NAMES: [&str; 5] = [
    "X-Api-Key",
    "x-lower",
    "X-UPPER",
    "x-mIXed-Case",
    "SOAPAction",
];

/// The head of a message.
async fn head(stream: &mut TcpStream) -> Result<String> {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(text)?)
}

fn headers() -> String {
    let lines = NAMES.iter().map(|name| format!("{name}: {name}\r\n"));
    lines.collect()
}

/// A pod that answers every request with the same bytes, and hands on what it got.
async fn serve(listener: TcpListener, heads: UnboundedSender<String>) -> Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        heads.send(head(&mut stream).await?)?;
        let answer = format!(
            "HTTP/1.1 202 Taken On\r\n{}Content-Length: 0\r\nConnection: close\r\n\r\n",
            headers()
        );
        stream.write_all(answer.as_bytes()).await?;
    }
}

fn ensure_as_written(head: &str) -> Result<()> {
    for name in NAMES {
        ensure!(
            head.contains(&format!("\r\n{name}: {name}\r\n")),
            "{name}: {head}"
        );
    }
    Ok(())
}

async fn names_and_reasons_pass_as_they_were_written(plane: Plane) -> Result<()> {
    let (network, manifests) = (Network::reserve()?, Manifests::new()?);
    let pod = network.pod(0);
    manifests.service("default", "raw", 80, &[pod])?;
    manifests.ingress(
        &Ingress::new("default", "raw")
            .host(HOST)
            .path("/", "raw", 80),
    )?;
    let (sender, mut heads): (_, UnboundedReceiver<String>) = unbounded_channel();
    let pod = tokio::spawn(serve(TcpListener::bind(pod).await?, sender));
    let sluice = plane.options(&manifests).start().await?;
    sluice.wait_for_status(HOST, "/", 202).await?;
    while heads.try_recv().is_ok() {}
    let mut client = TcpStream::connect(sluice.http()).await?;
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{}\r\n", headers());
    client.write_all(request.as_bytes()).await?;
    let answer = head(&mut client).await?;
    ensure_as_written(&answer).context("response")?;
    ensure!(answer.starts_with("HTTP/1.1 202 Taken On\r\n"), "{answer}");
    let request = heads.recv().await.context("no request")?;
    ensure_as_written(&request).context("request")?;
    ensure!(
        request.contains("\r\nHost: ") || request.contains("\r\nhost: "),
        "{request}"
    );
    pod.abort();
    sluice.stop()
}
