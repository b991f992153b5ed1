//! Envoy's admin interface, over its unix socket.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

/// Nothing that we ask for takes longer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Calls one admin endpoint and returns its body; any status but 200 is an error.
pub(crate) async fn call(socket: &Path, method: Method, path: &str) -> anyhow::Result<String> {
    tokio::time::timeout(TIMEOUT, exchange(socket, method, path))
        .await
        .with_context(|| format!("envoy admin {path}: no answer in {TIMEOUT:?}"))?
}

async fn exchange(socket: &Path, method: Method, path: &str) -> anyhow::Result<String> {
    let stream = UnixStream::connect(socket).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "envoy")
        .body(Empty::<Bytes>::new())
        .context("request")?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    if !status.is_success() {
        bail!("envoy admin {path}: {status}: {}", body.trim());
    }
    Ok(body)
}
