//! Client of Envoy's admin interface, over its unix socket.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::Method;
use tokio::net::UnixStream;

use crate::http_exchange::exchange;

/// Longer than any request of ours takes.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The process id of the process that listens on the socket.
pub(super) async fn socket_owner(socket: &Path) -> Option<i32> {
    UnixStream::connect(socket)
        .await
        .ok()?
        .peer_cred()
        .ok()?
        .pid()
}

/// Calls one admin endpoint and returns the body of the response.
///
/// # Errors
///
/// There is no response within two seconds, or its status is not 200.
pub async fn call(socket: &Path, method: Method, path: &str) -> anyhow::Result<String> {
    tokio::time::timeout(TIMEOUT, request(socket, method, path))
        .await
        .with_context(|| format!("envoy admin {path}: no response within {TIMEOUT:?}"))?
}

/// True if Envoy has its configuration and listens.
pub async fn is_live(socket: &Path) -> bool {
    let ready = call(socket, Method::GET, "/ready").await;
    ready.is_ok_and(|body| body.starts_with("LIVE"))
}

async fn request(socket: &Path, method: Method, path: &str) -> anyhow::Result<String> {
    let stream = UnixStream::connect(socket).await?;
    let (status, body) = exchange(stream, method, "envoy", path).await?;
    if !status.is_success() {
        bail!("envoy admin {path}: {status}: {}", body.trim());
    }
    Ok(body)
}
