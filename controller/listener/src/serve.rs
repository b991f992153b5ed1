//! Requests of a listener's clients, each connection by itself.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::serve::Listener;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::debug;

use crate::clients::{ClientAddress, Clients, ListenerLimits};

/// A client of HTTP/2 that answers no ping is gone. Envoy may be busy for long when it gets tens of thousands of hosts.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_TIMEOUT: Duration = ListenerLimits::DATA_PLANE_WRITE_TIMEOUT;

/// Bytes that a stream has written and its client has not read. There may be hundreds of clients that read for long: hyper's 400 KB are
/// more than all else that is remembered of one.
const SEND_BUFFER: usize = 64 * 1024;

/// Answers on a listener, within limits, for as long as it is polled. A panic costs one connection.
pub async fn serve_router<L>(mut listener: L, router: Router, limits: ListenerLimits)
where
    L: Listener,
    L::Addr: ClientAddress,
{
    let mut clients = Clients::new(limits.max_connections, limits.max_connections_per_address);
    let mut connections = JoinSet::new();
    loop {
        let (stream, _, permit) = clients.accept(&mut listener).await;
        let served = serve_connection(stream, router.clone(), limits);
        connections.spawn(async move {
            served.await;
            drop(permit);
        });
        // A panic has ended one connection.
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection<S>(stream: S, router: Router, limits: ListenerLimits)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (asked, service) = (Notify::new(), TowerToHyperService::new(router));
    let service = service_fn(|request| {
        asked.notify_one();
        service.call(request)
    });
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(PING_INTERVAL))
        .keep_alive_timeout(PING_TIMEOUT)
        .max_send_buf_size(SEND_BUFFER);
    let http = if limits.http2 {
        http
    } else {
        http.http1_only()
    };
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    // Without a byte it is not known which HTTP it is, and HTTP/2 has no such time of its own.
    let first = tokio::time::timeout(limits.header_timeout, asked.notified());
    tokio::select! {
        // What has arrived counts, however late we look.
        biased;
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                debug!("connection: {error}");
            }
        }
        Err(_) = first => debug!("client sent no request in time; connection closed"),
    }
}

/// A socket that only its owner can open.
pub fn bind_unix(path: &Path) -> anyhow::Result<UnixListener> {
    let describe = || format!("cannot listen on {}", path.display());
    // The folder is ours: what is in the way is what a run before this one left.
    std::fs::remove_file(path).ok();
    let listener = UnixListener::bind(path).with_context(describe)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).with_context(describe)?;
    Ok(listener)
}

#[cfg(test)]
mod tests;
