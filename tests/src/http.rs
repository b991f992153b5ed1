//! Requests on connections of their own.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::connection::Connection;
pub use crate::message::{Request, Response};

const TIMEOUT: Duration = Duration::from_secs(15);

/// Sends one request on a connection of its own.
pub async fn send(addr: SocketAddr, request: &Request) -> Result<Response> {
    let exchange = async { Connection::open(addr).await?.send(request).await };
    let what = || format!("{} {} to {addr}", request.method, request.target);
    tokio::time::timeout(TIMEOUT, exchange)
        .await
        .with_context(what)?
        .with_context(what)
}

/// GETs one page from a unix socket.
pub async fn get_unix(socket: &Path, target: &str) -> Result<Response> {
    send_unix(socket, &Request::get("unix", target)).await
}

/// Sends one request to a unix socket.
pub async fn send_unix(socket: &Path, request: &Request) -> Result<Response> {
    let exchange = async { Connection::open_unix(socket).await?.send(request).await };
    let what = || {
        let Request { method, target, .. } = request;
        format!("{method} {target} to {}", socket.display())
    };
    tokio::time::timeout(TIMEOUT, exchange)
        .await
        .with_context(what)?
        .with_context(what)
}

/// GETs one page on a connection of its own.
pub async fn get(addr: SocketAddr, host: &str, target: &str) -> Result<Response> {
    send(addr, &Request::get(host, target)).await
}
