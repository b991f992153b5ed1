//! Client of Envoy's admin interface, over its unix socket.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::Method;
use hyper::body::Bytes;
use serde::Deserialize;
use sluice_xds::{HTTP, HTTPS};
use tokio::net::UnixStream;

use crate::http_exchange::{exchange_bytes, text};

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
    page(socket, method, path).await.map(text)
}

/// The same, for a body that is passed on as it is.
///
/// # Errors
///
/// As above, or the body is longer than 256 MiB.
pub async fn page(socket: &Path, method: Method, path: &str) -> anyhow::Result<Bytes> {
    tokio::time::timeout(TIMEOUT, request(socket, method, path))
        .await
        .with_context(|| format!("envoy admin {path}: no response within {TIMEOUT:?}"))?
}

/// The addresses of Envoy's listeners for http and https, now that it has its configuration.
///
/// # Errors
///
/// It has none yet, is draining, or refused one of the two: it calls itself ready without any.
pub async fn serving(socket: &Path) -> anyhow::Result<Vec<SocketAddr>> {
    call(socket, Method::GET, "/ready").await?;
    let text = call(socket, Method::GET, "/listeners?format=json").await?;
    let listeners: Listeners = serde_json::from_str(&text).context("envoy admin /listeners")?;
    let mut addresses = Vec::new();
    for name in [HTTP, HTTPS] {
        addresses.extend(listeners.addresses_of(name).with_context(|| {
            format!(
                "it has no listener {name}; why it refused that of the controller is in the log"
            )
        })?);
    }
    Ok(addresses)
}

/// Envoy's `admin.v3.Listeners`.
#[derive(Deserialize)]
struct Listeners {
    #[serde(default)]
    listener_statuses: Vec<ListenerStatus>,
}

impl Listeners {
    fn addresses_of(&self, name: &str) -> Option<impl Iterator<Item = SocketAddr>> {
        let mut statuses = self.listener_statuses.iter();
        let status = statuses.find(|status| status.name == name)?;
        let addresses = std::iter::once(&status.local_address);
        let addresses = addresses.chain(&status.additional_local_addresses);
        let sockets = addresses.filter_map(|address| address.socket_address.as_ref());
        Some(sockets.map(|socket| SocketAddr::new(socket.address, socket.port_value)))
    }
}

#[derive(Deserialize)]
struct ListenerStatus {
    name: String,
    local_address: Address,
    #[serde(default)]
    additional_local_addresses: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    /// Absent from addresses of other kinds, such as a pipe's.
    socket_address: Option<SocketAddress>,
}

#[derive(Deserialize)]
struct SocketAddress {
    address: IpAddr,
    port_value: u16,
}

async fn request(socket: &Path, method: Method, path: &str) -> anyhow::Result<Bytes> {
    let stream = UnixStream::connect(socket).await?;
    let (status, body) = exchange_bytes(stream, method, "envoy", path).await?;
    if !status.is_success() {
        bail!("envoy admin {path}: {status}: {}", text(body).trim());
    }
    Ok(body)
}
