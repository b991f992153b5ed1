//! The controller's own HTTP, apart from data planes and clients.
//!
//! ```text
//!   kubelet, Prometheus --> public  (--healthz-port)   /healthz /metrics
//!   sluice dbg, people  --> local   (--admin-socket)   /configuration/... /nginx_status ...   the owner of the socket
//!   sluice wait-shutdown -> control (--admin-socket)   /stop                                  the same
//! ```
//!
//! The configuration of all tenants and mutating operations are not on a TCP port: a proxy can be tricked into connecting to
//! loopback, but not to a socket that only its owner can open.

mod backends;
mod control;
mod flags;
mod health;
mod ingresses;
mod local;
mod posted;
mod profile;
mod public;
mod reply;
mod xds;

pub use control::Stop;
pub use flags::AdminFlags;
pub use health::{Health, Probe};
pub use local::Local;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::Context;
use axum::Router;
use sluice_listener::{ListenerLimits, bind_unix, serve_router, with_write_timeout};
use sluice_metrics::Metrics;
use sluice_tasks::Tasks;
use tokio::net::TcpListener;
use tracing::warn;

/// Binds what the flags ask for, and serves in the background for as long as the runtime lives.
pub async fn serve(
    flags: &AdminFlags,
    socket: &Path,
    local: Local,
    metrics: Metrics,
    stop: Stop,
    tasks: &Tasks,
) -> anyhow::Result<()> {
    let health_path = &flags.health_check_path;
    if flags.healthz_port != 0 {
        let host = flags
            .healthz_host
            .unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let router = public::router(health_path, local.health.clone(), metrics);
        listen(
            SocketAddr::new(host, flags.healthz_port),
            "--healthz-port",
            router,
            tasks,
        )
        .await?;
    }
    if flags.status_port.is_some() {
        warn!(
            "--status-port has no effect: what ingress-nginx has there is on {}",
            socket.display()
        );
    }
    let listener = bind_unix(socket)?;
    let router = local::router(local, health_path).merge(control::router(stop));
    tasks.spawn(
        "admin socket",
        serve_router(listener, router, ListenerLimits::OPERATORS),
    );
    Ok(())
}

async fn listen(
    address: SocketAddr,
    flag: &'static str,
    router: Router,
    tasks: &Tasks,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with {flag}"))?;
    let listener = with_write_timeout(listener, ListenerLimits::WRITE_TIMEOUT);
    tasks.spawn(
        flag.trim_start_matches('-'),
        serve_router(listener, router, ListenerLimits::OPERATORS),
    );
    Ok(())
}

#[cfg(test)]
mod tests;
