//! Envoy's admin interface, over its unix socket.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::Method;
use tokio::net::UnixStream;

use crate::exchange::exchange;

/// Nothing that we ask for takes longer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The process that has opened the socket, if it is still there.
pub(crate) async fn owner(socket: &Path) -> Option<i32> {
    UnixStream::connect(socket)
        .await
        .ok()?
        .peer_cred()
        .ok()?
        .pid()
}

/// Calls one admin endpoint and returns its body; any status but 200 is an error.
pub(crate) async fn call(socket: &Path, method: Method, path: &str) -> anyhow::Result<String> {
    tokio::time::timeout(TIMEOUT, ask(socket, method, path))
        .await
        .with_context(|| format!("envoy admin {path}: no answer in {TIMEOUT:?}"))?
}

async fn ask(socket: &Path, method: Method, path: &str) -> anyhow::Result<String> {
    let stream = UnixStream::connect(socket).await?;
    let (status, body) = exchange(stream, method, "envoy", path).await?;
    if !status.is_success() {
        bail!("envoy admin {path}: {status}: {}", body.trim());
    }
    Ok(body)
}
