//! A connection that was upgraded belongs to its two ends: it outlives changes of endpoints.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use sluice_tests::wait;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::fixture::HOST;
use crate::managed::reloads;

/// Accepts every upgrade, says who it is, then sends back what it gets.
struct Pod(JoinHandle<()>);

impl Pod {
    async fn start(addr: SocketAddr, name: &'static [u8; 1]) -> Result<Pod> {
        let listener = TcpListener::bind(addr).await?;
        Ok(Pod(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, name));
            }
        })))
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn serve(mut stream: TcpStream, name: &[u8; 1]) -> Result<()> {
    let head = head(&mut stream).await?.to_lowercase();
    ensure!(
        head.contains("\r\nupgrade: websocket\r\n") && head.contains("\r\nconnection: upgrade\r\n"),
        "{head}"
    );
    stream
        .write_all(b"HTTP/1.1 101 Switching\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n")
        .await?;
    stream.write_all(name).await?;
    let (mut input, mut output) = stream.split();
    tokio::io::copy(&mut input, &mut output).await?;
    Ok(())
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(head)?)
}

/// An upgraded connection, and the name of the pod at its other end.
async fn open(addr: SocketAddr) -> Result<(TcpStream, u8)> {
    let mut stream = TcpStream::connect(addr).await?;
    let upgrade = format!(
        "GET / HTTP/1.1\r\nhost: {HOST}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n"
    );
    stream.write_all(upgrade.as_bytes()).await?;
    let head = head(&mut stream).await?;
    ensure!(head.starts_with("HTTP/1.1 101"), "{head}");
    let name = stream.read_u8().await?;
    Ok((stream, name))
}

async fn ensure_echo(stream: &mut TcpStream, text: &[u8]) -> Result<()> {
    stream.write_all(text).await?;
    let mut back = vec![0; text.len()];
    stream.read_exact(&mut back).await?;
    ensure!(back == text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn upgraded_connection_survives_endpoint_changes() -> Result<()> {
    let network = Network::reserve()?;
    let _pods = (
        Pod::start(network.pod(0), b"a").await?,
        Pod::start(network.pod(1), b"b").await?,
    );
    let manifests = Manifests::new()?;
    manifests.service("default", "web", 80, &[network.pod(0)])?;
    manifests.ingress(
        &Ingress::new("default", "web")
            .host(HOST)
            .path("/", "web", 80),
    )?;
    let sluice = Options::new(&manifests).data_plane("nginx").start().await?;
    let (mut old, name) = open(sluice.http()).await?;
    ensure!(name == b'a');
    ensure_echo(&mut old, b"before").await?;
    manifests.endpoints("default", "web", &[network.pod(1)])?;
    let elsewhere = async || {
        open(sluice.http())
            .await
            .ok()
            .filter(|(_, name)| *name == b'b')
    };
    let ((mut new, _), _) = wait::until("a connection to the new pod", elsewhere).await?;
    ensure_echo(&mut old, b"after").await?;
    ensure_echo(&mut new, &[7; 100_000]).await?;
    ensure!(reloads(&sluice) == 0, "{}", sluice.log().tail());
    drop((old, new));
    sluice.stop()
}
