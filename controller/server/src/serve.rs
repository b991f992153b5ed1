//! One listener for data planes: xDS over gRPC, the filter's log and nginx's questions over plain HTTP.

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::routing::{get, post};
use axum::serve::Listener;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use sluice_authz::Authorizer;
use sluice_filter_config::LOG_PATH;
use sluice_firewall::Firewall;
use sluice_tasks::Tasks;
use sluice_xds_server::{EXT_PROC_PATH, Store};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use crate::clients::{ClientAddress, ClientLimits, Clients, with_write_timeout};
use crate::machines::{Noting, Peers};
use crate::poll::{self, SharedLog};
use crate::tls::ServerTls;

/// A client of HTTP/2 that answers no ping is gone. Envoy may be busy for long when it gets tens of thousands of hosts.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_TIMEOUT: Duration = ClientLimits::DATA_PLANE_WRITE_TIMEOUT;

/// Everything that data planes read.
#[derive(Clone, Debug)]
pub struct Served {
    /// The filter.
    pub log: SharedLog,
    /// Envoy's configuration.
    pub store: Store,
    /// Envoy, for each request that is asked about.
    pub authorizer: Authorizer,
    /// Envoy, for each request that a web application firewall looks at.
    pub firewall: Firewall,
}

/// Address of the controller for data planes.
#[derive(Clone, Debug)]
pub enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// TCP without TLS.
    Tcp(SocketAddr),
    /// Mutual TLS.
    Tls(SocketAddr, ServerTls),
}

/// All services on one router.
pub fn router(served: &Served, xds: tonic::service::Routes) -> Router {
    let log = get(poll::plugin_config).with_state(served.log.clone());
    let authz = get(sluice_authz::auth_request).with_state(served.authorizer.clone());
    let firewall = post(sluice_firewall::relay).with_state(served.firewall.clone());
    xds.into_axum_router()
        .route(LOG_PATH, log)
        .route(EXT_PROC_PATH, firewall)
        .route(sluice_nginx::auth_request::PATH, authz)
}

/// Binds, then serves in the background for as long as the runtime lives. Says who comes.
pub async fn serve(address: &Address, router: Router, tasks: &Tasks) -> anyhow::Result<Peers> {
    const NAME: &str = "data plane server";
    const LIMITS: ClientLimits = ClientLimits::DATA_PLANES;
    let peers = Peers::default();
    match address {
        Address::Unix(path) => {
            let listener = bind_unix(path)?;
            info!("serving data planes on unix:{}", path.display());
            tasks.spawn(NAME, forever(listener, router, LIMITS));
        }
        Address::Tcp(address) => {
            let listener = listen_tcp(*address).await?;
            warn!(
                "serving xds on {address} without tls: any client that connects gets the private keys of all hosts"
            );
            tasks.spawn(
                NAME,
                forever(
                    Noting {
                        listener,
                        peers: peers.clone(),
                    },
                    router,
                    LIMITS,
                ),
            );
        }
        Address::Tls(address, tls) => {
            let listener = tls.clone().listen(listen_tcp(*address).await?, tasks);
            info!("serving xds on {address}");
            tasks.spawn(
                NAME,
                forever(
                    Noting {
                        listener,
                        peers: peers.clone(),
                    },
                    router,
                    LIMITS,
                ),
            );
        }
    }
    Ok(peers)
}

/// Answers on a listener, within limits, for as long as it is polled. A panic costs one connection.
pub async fn forever<L>(mut listener: L, router: Router, limits: ClientLimits)
where
    L: Listener,
    L::Addr: ClientAddress,
{
    let mut clients = Clients::new(limits.connections, limits.connections_per_address);
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

async fn serve_connection<S>(stream: S, router: Router, limits: ClientLimits)
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
        .keep_alive_timeout(PING_TIMEOUT);
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
        Err(_) = first => debug!("a client has sent no request in time"),
    }
}

/// Its clients are asked for a ping only while they say nothing, and those of HTTP/1.1 never.
async fn listen_tcp(
    address: SocketAddr,
) -> anyhow::Result<impl Listener<Io = TcpStream, Addr = SocketAddr>> {
    let context = || format!("--xds-address {address}; choose another with --xds-address");
    let listener = TcpListener::bind(address).await.with_context(context)?;
    Ok(with_write_timeout(
        listener,
        ClientLimits::DATA_PLANE_WRITE_TIMEOUT,
    ))
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
