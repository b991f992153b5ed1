//! Bodies pass untouched, whatever their size and however they are sent.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context as TaskContext, Poll};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::{http1 as client, http2};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use sluice_tests::dial::Dial;
use sluice_tests::manifests::{Ingress, Manifests};
use sluice_tests::ports::Network;
use sluice_tests::sluice::Options;
use sluice_tests::tls::{self, ClientTls, Identity};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::fixture::HOST;
use crate::gateway::{Fixed, Form};

const SIZES: [usize; 8] = [0, 1, 1000, 8192, 65_536, 1 << 20, (10 << 20) + 7, 100 << 20];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_all_sizes_pass_in_both_directions() -> Result<()> {
    let network = Network::reserve()?;
    let echo = BodyEcho::start(network.pod(0)).await?;
    for buffering in ["on", "off"] {
        let location = format!(
            "client_max_body_size 0; proxy_request_buffering {buffering}; proxy_buffering {buffering};"
        );
        let gateway = Fixed::start(Form::BuiltIn, &[echo.addr], &location).await?;
        for size in SIZES {
            for chunked in [false, true] {
                let what = || format!("{size} bytes, chunked {chunked}, buffering {buffering}");
                round_trip(gateway.addr(), size, chunked)
                    .await
                    .with_context(what)?;
            }
        }
        gateway.nginx.stop()?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_pass_over_http2_and_upstream_tls() -> Result<()> {
    let network = Network::reserve()?;
    let _mirror = BodyEcho::start_tls(network.pod(0)).await?;
    let manifests = Manifests::new()?;
    manifests.service("default", "web", 80, &[network.pod(0)])?;
    let ingress = Ingress::new("default", "web")
        .host(HOST)
        .path("/", "web", 80);
    let ingress = ingress
        .annotation("backend-protocol", "HTTPS")
        .annotation("proxy-body-size", "0");
    manifests.ingress(&ingress)?;
    let sluice = Options::new(&manifests).data_plane("nginx").start().await?;
    for size in SIZES {
        for chunked in [false, true] {
            let what = || format!("{size} bytes, chunked {chunked}; {}", sluice.log().tail());
            round_trip_over_http2(sluice.https(), size, chunked)
                .await
                .with_context(what)?;
        }
    }
    sluice.stop()
}

/// A pod that takes a whole body, then answers with the like of it, framed in the same way. (nginx stops sending once an
/// answer has begun.)
struct BodyEcho {
    addr: SocketAddr,
    task: JoinHandle<()>,
}

impl BodyEcho {
    async fn start(addr: SocketAddr) -> Result<BodyEcho> {
        let listener = TcpListener::bind(addr).await?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = server::Builder::new()
                    .serve_connection(TokioIo::new(stream), service_fn(echo_body));
                tokio::spawn(connection);
            }
        });
        Ok(BodyEcho { addr, task })
    }

    async fn start_tls(addr: SocketAddr) -> Result<BodyEcho> {
        let listener = TcpListener::bind(addr).await?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new([HOST.to_owned()])?.self_signed(&key)?;
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        let identity = Identity {
            chain: vec![certificate.der().clone()],
            key,
        };
        let acceptor = TlsAcceptor::from(tls::server_config(identity)?);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let handshake = acceptor.accept(stream);
                tokio::spawn(async move {
                    let stream = TokioIo::new(handshake.await?);
                    server::Builder::new()
                        .serve_connection(stream, service_fn(echo_body))
                        .await?;
                    anyhow::Ok(())
                });
            }
        });
        Ok(BodyEcho { addr, task })
    }
}

async fn echo_body(request: Request<Incoming>) -> Result<Response<Pattern>> {
    let chunked =
        !request.headers().contains_key("content-length") && !request.body().is_end_stream();
    let size = check(request.into_body()).await?;
    Ok(Response::new(Pattern {
        at: 0,
        size,
        chunked,
    }))
}

/// The length of a body that is the pattern, and nothing but the pattern.
async fn check(mut body: Incoming) -> Result<usize> {
    let mut at = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        ensure!(
            data == Pattern::bytes(at, data.len()),
            "the body differs after {at} bytes"
        );
        at += data.len();
    }
    Ok(at)
}

impl Drop for BodyEcho {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn round_trip(addr: SocketAddr, size: usize, chunked: bool) -> Result<()> {
    let (mut sender, connection) =
        client::handshake(TokioIo::new(TcpStream::connect(addr).await?)).await?;
    tokio::spawn(connection);
    let body = Pattern {
        at: 0,
        size,
        chunked,
    };
    let request = Request::post("/").header("host", HOST).body(body)?;
    let response = sender.send_request(request).await?;
    ensure!(response.status() == 200, "status {}", response.status());
    let received = check(response.into_body()).await?;
    ensure!(received == size, "{received} bytes came back");
    Ok(())
}

async fn round_trip_over_http2(addr: SocketAddr, size: usize, chunked: bool) -> Result<()> {
    let dial = Dial::tls(addr, HOST);
    let tls = dial.tls.map(|tls| ClientTls { http2: true, ..tls });
    let stream = TokioIo::new(Dial { tls, ..dial }.connect().await?.stream);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await?;
    let connection = tokio::spawn(connection);
    let body = Pattern {
        at: 0,
        size,
        chunked,
    };
    let request = Request::post(format!("https://{HOST}/")).body(body)?;
    let response = sender.send_request(request).await?;
    ensure!(response.status() == 200, "status {}", response.status());
    let received = check(response.into_body()).await?;
    connection.abort();
    ensure!(received == size, "{received} bytes came back");
    Ok(())
}

/// A body whose every byte depends on its place.
struct Pattern {
    at: usize,
    size: usize,
    chunked: bool,
}

impl Pattern {
    const PIECE: usize = 61_000;
    /// A prime, so that a block that is lost or doubled shows.
    const PERIOD: usize = 251;

    /// The bytes from `at`, at most some megabytes of them.
    fn bytes(at: usize, length: usize) -> Bytes {
        static REPEATED: LazyLock<Bytes> =
            LazyLock::new(|| (0..=250).cycle().take(16 << 20).collect::<Vec<u8>>().into());
        let start = at % Pattern::PERIOD;
        REPEATED.slice(start..start + length)
    }
}

impl Body for Pattern {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let length = Self::PIECE.min(self.size - self.at);
        let piece = (length > 0).then(|| Ok(Frame::data(Self::bytes(self.at, length))));
        self.at += length;
        Poll::Ready(piece)
    }

    fn is_end_stream(&self) -> bool {
        !self.chunked && self.at == self.size
    }

    fn size_hint(&self) -> SizeHint {
        if self.chunked {
            SizeHint::default()
        } else {
            SizeHint::with_exact((self.size - self.at) as u64)
        }
    }
}
