//! A client with one request under way.

use anyhow::{Context, Result, bail, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::dial::{Dial, Stream};
use sluice_tests::http::Request;
use sluice_tests::http2;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Protocol;
use super::proxy::Running;
use super::site::HOST;

/// Of every client; the proof of the upgrade is made of it.
pub(crate) const WEBSOCKET_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// Clients that share a connection of HTTP/2.
const STREAMS: usize = 8;
/// A text of 64 bytes, masked with zeros as clients have to.
const FRAME_HEAD: [u8; 6] = [0x81, 0x80 | 64, 0, 0, 0, 0];
const FRAME_LENGTH: usize = FRAME_HEAD.len() + 64;

/// A client; its connection stays.
pub(crate) enum Client {
    Http1(Box<Connection>, Vec<u8>),
    Http2(http2::Connection, Request, Protocol),
    WebSocket(Box<dyn Stream>),
}

impl Client {
    /// As many as wanted, connected.
    pub(crate) async fn open(
        protocol: Protocol,
        running: &Running,
        count: usize,
    ) -> Result<Vec<Client>> {
        let mut clients = Vec::new();
        while clients.len() < count {
            let stream = dial(protocol, running).connect().await?.stream;
            match protocol {
                Protocol::Http1 | Protocol::Https => {
                    let request = Request::get(HOST, "/").to_bytes();
                    let connection = Box::new(Connection::over(stream));
                    clients.push(Client::Http1(connection, request));
                }
                Protocol::Http2 | Protocol::Grpc => {
                    let request = match protocol {
                        Protocol::Grpc => Request::new("POST", HOST, "/web.Web/Call"),
                        _ => Request::get(HOST, "/"),
                    };
                    let connection = http2::Connection::open(stream).await?;
                    let left = STREAMS.min(count - clients.len());
                    let client = || Client::Http2(connection.clone(), request.clone(), protocol);
                    clients.extend((0..left).map(|_| client()));
                }
                Protocol::WebSocket => clients.push(Client::WebSocket(upgrade(stream).await?)),
            }
        }
        Ok(clients)
    }

    /// One request, or one message, and its answer.
    pub(crate) async fn exchange(&mut self) -> Result<()> {
        match self {
            Client::Http1(connection, request) => {
                let response = connection.send_bytes(request, false).await?;
                ensure!(response.status == 200, "status {}", response.status);
                ensure!(connection.is_reusable(), "the connection was closed");
            }
            Client::Http2(connection, request, protocol) => {
                let is_grpc = *protocol == Protocol::Grpc;
                let response = connection.send(request, true, is_grpc).await?;
                ensure!(response.status == 200, "status {}", response.status);
                if is_grpc {
                    let status = response.header("grpc-status");
                    ensure!(status == Some("0"), "grpc-status {status:?}");
                }
            }
            Client::WebSocket(stream) => {
                let mut frame = [b'x'; FRAME_LENGTH];
                frame[..FRAME_HEAD.len()].copy_from_slice(&FRAME_HEAD);
                stream.write_all(&frame).await?;
                stream.read_exact(&mut frame).await?;
            }
        }
        Ok(())
    }
}

fn dial(protocol: Protocol, running: &Running) -> Dial {
    if !protocol.is_secure() {
        return Dial::plain(running.http);
    }
    let mut dial = Dial::tls(running.https, HOST);
    if let Some(tls) = &mut dial.tls {
        tls.http2 = protocol.is_http2();
    }
    dial
}

async fn upgrade(mut stream: Box<dyn Stream>) -> Result<Box<dyn Stream>> {
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {WEBSOCKET_KEY}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.context("the answer to an upgrade")?);
    }
    if !head.starts_with(b"HTTP/1.1 101") {
        bail!("not upgraded: {}", String::from_utf8_lossy(&head));
    }
    Ok(stream)
}
