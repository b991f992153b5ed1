//! Pages about a running controller, for a browser: read only, and on loopback alone.
//!
//! ```text
//!   browser --kubectl port-forward--> access.rs --token--> pages/ --templates/--> HTML
//!                                                          index.rs   from the View, once for each translation
//!   access logs of data planes ---------------------> traffic.rs (and ejections)
//!   the View, as it changes ------------------------> starts.rs
//!                                        live.rs ---------> "something has changed", and the page is fetched again
//! ```
//!
//! A proxy can be tricked into connecting to loopback, and a browser into sending requests there. So nobody gets a page without the
//! token, which `sluice dbg dashboard` prints to the owner of the admin socket.

mod access;
mod assets;
mod index;
mod live;
mod pages;
mod paging;
mod starts;
mod time;
mod traffic;
mod verdict;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use access::Token;
use anyhow::Context;
use axum::Router;
use axum::middleware;
use axum::routing::get;
use clap::Args as ClapArgs;
use index::Indexed;
use sluice_dataplane::nginx;
use sluice_listener::{ListenerLimits, serve_router, with_write_timeout};
use sluice_state::View;
use sluice_tasks::Tasks;
use sluice_translate::Options;
use sluice_xds_server::Store;
use tokio::net::TcpListener;

pub use traffic::Traffic;

/// Flags of the dashboard.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Health, metrics and admin")]
pub struct DashboardFlags {
    /// Port on loopback for the dashboard, whose URL `sluice dbg dashboard` prints; 0 for none.
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub dashboard_port: u16,
}

impl DashboardFlags {
    /// Every port that is listened on.
    pub fn ports(&self) -> impl Iterator<Item = u16> + use<> {
        Some(self.dashboard_port)
            .filter(|port| *port != 0)
            .into_iter()
    }
}

/// Inputs of the pages.
#[derive(Clone)]
pub struct Dashboard {
    /// Objects and their translation.
    pub view: View,
    /// Options of the translation.
    pub options: Arc<Options>,
    /// Resources published to Envoys.
    pub store: Store,
    /// The nginx that is our child; `None`: data planes are Envoys.
    pub nginx: Option<nginx::Running>,
    /// Requests that endpoints got; `None`: they are not counted (--enable-metrics).
    pub traffic: Option<Traffic>,
}

/// Listens where the flags say, and serves in the background. `None`: there is no dashboard.
pub async fn serve(
    flags: &DashboardFlags,
    dashboard: Dashboard,
    tasks: &Tasks,
) -> anyhow::Result<Option<Url>> {
    if flags.dashboard_port == 0 {
        return Ok(None);
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, flags.dashboard_port));
    let listener = TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}; choose another with --dashboard-port")
    })?;
    let token = Token::random()?;
    let url = Url {
        port: flags.dashboard_port,
        token: token.clone(),
    };
    let snapshots = dashboard.view.snapshots();
    let indexed = Arc::new(Indexed::new(dashboard));
    let starts = indexed.starts.clone();
    tasks.spawn("slow starts", starts.follow(snapshots));
    let listener = with_write_timeout(listener, ListenerLimits::WRITE_TIMEOUT);
    tasks.spawn(
        "dashboard",
        serve_router(listener, router(indexed, token), ListenerLimits::OPERATORS),
    );
    Ok(Some(url))
}

/// URL of the dashboard, with its token.
#[derive(Clone, Debug)]
pub struct Url {
    port: u16,
    token: Token,
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "http://127.0.0.1:{}/?token={}",
            self.port,
            self.token.reveal()
        )
    }
}

/// All pages, behind the token.
pub(crate) fn router(indexed: Arc<Indexed>, token: Token) -> Router {
    Router::new()
        .route("/", get(pages::overview::page))
        .route("/ingresses", get(pages::ingresses::page))
        .route("/ingresses/{namespace}/{name}", get(pages::ingress::page))
        .route("/certificates", get(pages::certificates::page))
        .route("/refused", get(pages::refused::page))
        .route("/explain", get(pages::explain::page))
        .route("/changes", get(live::changes))
        .with_state(indexed)
        .merge(assets::router())
        .layer(middleware::from_fn_with_state(token, access::check))
}

#[cfg(test)]
mod tests;
