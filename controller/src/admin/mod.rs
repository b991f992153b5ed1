//! The controller's own HTTP, apart from data planes and clients.
//!
//! ```text
//!   kubelet, Prometheus --> public (--healthz-port)   /healthz /metrics
//!   sluice dbg, people  --> local  (--status-port)    /configuration/... /nginx_status ...   loopback only
//! ```

mod health;
mod public;

pub(crate) use health::Health;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::Context;
use axum::Router;
use tokio::net::TcpListener;

use crate::args::AdminFlags;
use crate::metrics::Metrics;

/// Binds what the flags ask for, and serves in the background for as long as the runtime lives.
pub(crate) async fn serve(flags: &AdminFlags, health: &Health, metrics: &Metrics) -> anyhow::Result<()> {
    let host = flags.healthz_host.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    if flags.healthz_port == 0 {
        return Ok(());
    }
    let public = public::router(&flags.health_check_path, health.clone(), metrics.clone());
    listen(SocketAddr::new(host, flags.healthz_port), "--healthz-port", public).await
}

async fn listen(address: SocketAddr, flag: &str, router: Router) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with {flag}"))?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(())
}
