//! The pods behind every contender, and the certificate of the host before it.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest, Sha1};
use sluice_tests::certificate::Pair;
use sluice_tests::echo::Echo;
use sluice_tests::ports::Network;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::Protocol;
use crate::cpu;

/// The host of every request.
pub(crate) const HOST: &str = "web.test";
const PODS: u16 = 4;
/// The name that RFC 6455 has for the proof of an upgrade.
const WEBSOCKET: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Two sets of pods for HTTP, which take turns when they change, and one for WebSockets.
pub(crate) struct Site {
    pub(crate) pair: Pair,
    sets: [Vec<SocketAddr>; 2],
    websockets: Vec<SocketAddr>,
    folder: TempDir,
    _echoes: Vec<Echo>,
    _upgraded: JoinSet<()>,
    _network: Network,
}

impl Site {
    pub(crate) async fn start() -> Result<Site> {
        let network = Network::reserve()?;
        let all = network.pods(3 * PODS);
        let (first, rest) = all.split_at(PODS.into());
        let (second, websockets) = rest.split_at(PODS.into());
        let mut echoes = Echo::start_all("first", first).await?;
        echoes.extend(Echo::start_all("second", second).await?);
        cpu::answer_in_short(&echoes);
        let mut upgraded = JoinSet::new();
        for addr in websockets {
            upgraded.spawn(upgrade_all(TcpListener::bind(addr).await?));
        }
        let (pair, folder) = (Pair::of(&[HOST])?, tempfile::tempdir()?);
        fs::write(folder.path().join("web.crt"), &pair.pem)?;
        fs::write(folder.path().join("web.key"), &pair.key)?;
        fs::write(
            folder.path().join("web.pem"),
            format!("{}{}", pair.pem, pair.key),
        )?;
        Ok(Site {
            pair,
            sets: [first.to_vec(), second.to_vec()],
            websockets: websockets.to_vec(),
            folder,
            _echoes: echoes,
            _upgraded: upgraded,
            _network: network,
        })
    }

    /// The pods that serve this protocol.
    pub(crate) fn pods(&self, protocol: Protocol) -> &[SocketAddr] {
        match protocol {
            Protocol::WebSocket => &self.websockets,
            _ => &self.sets[0],
        }
    }

    /// A set of pods of HTTP, and what the names of its pods begin with.
    pub(crate) fn set(&self, second: bool) -> (&[SocketAddr], &'static str) {
        let names = ["first-", "second-"];
        (&self.sets[usize::from(second)], names[usize::from(second)])
    }

    /// Folder of the certificate: `web.crt`, `web.key`, and `web.pem` with both.
    pub(crate) fn certificates(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

async fn upgrade_all(listener: TcpListener) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        // A connection that ends is a client that has gone.
        connections.spawn(async move { drop(upgrade(stream).await) });
    }
}

/// Agrees to WebSockets, then sends back whatever bytes come: proxies do not look into them.
async fn upgrade(mut stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let has_key = head
        .lines()
        .any(|line| line.starts_with("sec-websocket-key:"));
    let answer = if has_key {
        switching_protocols()
    } else {
        "HTTP/1.1 400 Bad Request\r\n\r\n".to_owned()
    };
    stream.write_all(answer.as_bytes()).await?;
    let mut bytes = [0; 4096];
    loop {
        let length = stream.read(&mut bytes).await?;
        if length == 0 {
            return Ok(());
        }
        stream.write_all(&bytes[..length]).await?;
    }
}

/// The agreement to WebSockets; every client here has the same key.
fn switching_protocols() -> String {
    let proof = Sha1::digest(format!("{}{WEBSOCKET}", super::client::WEBSOCKET_KEY));
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        BASE64_STANDARD.encode(proof)
    )
}
