//! One listener for data planes: xDS and the firewall's relay over gRPC, the filter's log and nginx's auth_request over plain HTTP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use axum::Router;
use axum::routing::{get, post};
use axum::serve::Listener;
use sluice_authz::Authorizer;
use sluice_filter_config::LOG_PATH;
use sluice_firewall::Firewall;
use sluice_listener::{
    HandshakeLimits, ListenerLimits, ServerTls, TlsFile, TlsFiles, bind_unix, serve_router,
    with_write_timeout,
};
use sluice_tasks::Tasks;
use sluice_xds::{AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE};
use sluice_xds_server::{EXT_PROC_PATH, Store};
use tokio::net::{TcpListener, TcpStream};
use tracing::{info, warn};

use crate::machines::Peers;
use crate::poll::{self, SharedLog};
use crate::tracked_listener::TrackedListener;

const NAME: &str = "data plane server";
const LIMITS: ListenerLimits = ListenerLimits::DATA_PLANES;

/// Everything that data planes read.
#[derive(Clone, Debug)]
pub struct Served {
    /// Log of the filter's tables, by long poll.
    pub log: SharedLog,
    /// Envoy's resources (xDS).
    pub store: Store,
    /// Access control of requests: Envoy's ext_authz, nginx's auth_request.
    pub authorizer: Authorizer,
    /// Relay to the web application firewall (Envoy's ext_proc).
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

/// Mutual TLS by the files of this folder. `flag` names it.
pub fn mutual_tls(folder: &Path, flag: &'static str, tasks: &Tasks) -> anyhow::Result<ServerTls> {
    let file = |name| TlsFile {
        path: folder.join(name),
        flag,
    };
    let files = TlsFiles {
        listener: "xds",
        certificate: file(CERTIFICATE_FILE),
        key: file(KEY_FILE),
        authority: Some(file(AUTHORITY_FILE)),
        advice,
    };
    ServerTls::follow(files, tasks)
}

fn advice(error: &str) -> &'static str {
    if error.contains("UnknownCA") || error.contains("UnknownIssuer") {
        "; its certificate and ours are of different authorities: give both the Secrets of one `sluice certgen`"
    } else if error.contains("expired") || error.contains("Expired") {
        "; a certificate has expired"
    } else {
        ""
    }
}

/// Binds, then serves in the background for as long as the runtime lives. Returns the peers that connect; none over a unix socket.
pub async fn listen(address: &Address, router: Router, tasks: &Tasks) -> anyhow::Result<Peers> {
    let peers = Peers::default();
    match address {
        Address::Unix(path) => {
            let listener = bind_unix(path)?;
            info!("serving data planes on unix:{}", path.display());
            tasks.spawn(NAME, serve_router(listener, router, LIMITS));
        }
        Address::Tcp(address) => {
            let listener = listen_tcp(*address).await?;
            warn!(
                "serving xds on {address} without tls: any client that connects gets the private keys of all hosts"
            );
            let listener = TrackedListener::new(listener, &peers);
            tasks.spawn(NAME, serve_router(listener, router, LIMITS));
        }
        Address::Tls(address, tls) => {
            let listener = listen_tcp(*address).await?;
            info!("serving xds on {address}");
            let listener = tls
                .clone()
                .listen(listener, HandshakeLimits::DATA_PLANES, tasks);
            let listener = TrackedListener::new(listener, &peers);
            tasks.spawn(NAME, serve_router(listener, router, LIMITS));
        }
    }
    Ok(peers)
}

/// Its clients are asked for a ping only while they say nothing, and those of HTTP/1.1 never.
async fn listen_tcp(
    address: SocketAddr,
) -> anyhow::Result<impl Listener<Io = TcpStream, Addr = SocketAddr>> {
    let context = || format!("cannot listen on {address}; choose another with --xds-address");
    let listener = TcpListener::bind(address).await.with_context(context)?;
    Ok(with_write_timeout(
        listener,
        ListenerLimits::DATA_PLANE_WRITE_TIMEOUT,
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use socket2::SockRef;

    use super::*;

    /// All that data planes connect to, with TLS or without.
    #[tokio::test]
    async fn data_planes_have_five_minutes_to_take_something() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut listener = listen_tcp(any).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_client, (stream, _)) = tokio::join!(TcpStream::connect(address), listener.accept());
        let timeout = SockRef::from(&stream).tcp_user_timeout().unwrap();
        assert_eq!(timeout, Some(Duration::from_mins(5)));
    }
}
