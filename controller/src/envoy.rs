//! `sluice envoy`: Envoy, configured by a controller elsewhere. What a data-plane pod runs.
//!
//! ```text
//!   kubelet --/healthz, /readyz--> us --starts, watches, drains--> Envoy --xDS, log (TLS both ways)--> controller
//! ```
//!
//! Absent on purpose: anything of Kubernetes. A pod of the data plane has no API token and needs none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::Method;
use sluice_dataplane::envoy::{Envoy, admin};
use sluice_dataplane::private_file;
use sluice_dataplane::run_dir::RunDir;
use sluice_listener::{ListenerLimits, serve_router, with_write_timeout};
use sluice_metrics::{DataPlaneMetrics, Identity, Page, Running, SharedPage};
use sluice_tasks::{SharedAnswer, Tasks};
use sluice_xds::{ControllerAddress, MutualTls};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::{error, info};

use crate::args::RunEnvoy;
use crate::signals::Signals;
use crate::{data_plane, log};

pub(crate) fn run(args: &RunEnvoy) -> anyhow::Result<()> {
    log::to_stderr(&args.log.filter(), args.log.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("runtime")?;
    runtime.block_on(serve_until_told(args))
}

async fn serve_until_told(args: &RunEnvoy) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let tasks = Tasks::default();
    let run_dir = RunDir::take(args.child.run_dir.as_deref())?;
    let controller = controller(args, &run_dir.path)?;
    let (flags, shutdown) = (&args.child, &args.shutdown);
    let settings = data_plane::envoy_settings(flags, shutdown, &args.node_id, controller)?;
    let envoy = Envoy::new(settings, &run_dir.path, &tasks)?;
    let (leave, leaving) = watch::channel(false);
    let identity = Identity::from_env(&args.controller_class);
    let running = Running::Envoy(envoy.running());
    let health = Health {
        admin_socket: envoy.admin_socket().to_owned(),
        leaving,
        metrics: DataPlaneMetrics::new(&identity, running).context("metrics")?,
        ready: SharedAnswer::default(),
        page: SharedPage::default(),
    };
    serve_health(args, health, &tasks).await?;
    let (stop, stopped) = watch::channel(false);
    let envoy = tasks.spawn_fallible(
        "envoy supervisor",
        envoy.supervise(stopped, flags.max_failed_starts(), || info!("envoy serves")),
    );

    let grace = tokio::select! {
        () = signals.wait() => args.shutdown.shutdown_grace_period,
        failure = tasks.failed() => {
            if failure.is_unexplained() {
                error!("{failure}");
            }
            0
        }
    };
    info!("stopping");
    // Load balancers get the grace period to notice; until then everything is served as before.
    leave.send(true).ok();
    signals
        .pause(Duration::from_secs(grace), "still serving")
        .await;
    tasks.stop();
    stop.send(true).ok();
    // A panic was logged already.
    envoy.await.ok();
    if let Some(failure) = tasks.failure() {
        return Err(failure.into());
    }
    let rest = args.shutdown.post_shutdown_grace_period();
    signals.pause(rest, "metrics and logs are served").await;
    Ok(())
}

fn controller(args: &RunEnvoy, run_dir: &Path) -> anyhow::Result<ControllerAddress> {
    let at = &args.xds_address;
    let server_name = args.xds_server_name.as_ref().unwrap_or(&at.host);
    let tls = args
        .xds_certificates
        .as_ref()
        .map(|folder| MutualTls::new(folder, server_name, run_dir));
    for (path, content) in tls.iter().flat_map(MutualTls::files) {
        private_file::write(&path, content.to_string())
            .with_context(|| path.display().to_string())?;
    }
    Ok(ControllerAddress::Tcp {
        host: at.host.clone(),
        port: at.port,
        tls,
    })
}

/// Inputs of health probes and of metrics. Both ask Envoy's main thread, which has more to do: answers are shared.
#[derive(Clone)]
struct Health {
    admin_socket: PathBuf,
    leaving: watch::Receiver<bool>,
    metrics: DataPlaneMetrics,
    ready: SharedAnswer<Result<(), String>>,
    page: SharedPage,
}

impl Health {
    /// Fails with what keeps requests from being served.
    async fn ready(&self) -> Result<(), String> {
        if *self.leaving.borrow() {
            return Err("stopping".to_owned());
        }
        let ask = || {
            let socket = self.admin_socket.clone();
            async move {
                let serving = admin::serving(&socket).await;
                serving.map(drop).map_err(|error| format!("{error:#}"))
            }
        };
        self.ready.get(ask).await
    }

    /// Envoy's own, and what ingress-nginx says of its nginx.
    async fn page(&self) -> Result<Page, String> {
        let ask = || {
            let (socket, metrics) = (self.admin_socket.clone(), self.metrics.clone());
            async move {
                let envoy = admin::page(&socket, Method::GET, "/stats/prometheus").await;
                let envoy = envoy.map_err(|error| format!("{error:#}"))?;
                Ok([envoy, metrics.text().await.into()])
            }
        };
        self.page.get(ask).await
    }
}

async fn serve_health(args: &RunEnvoy, health: Health, tasks: &Tasks) -> anyhow::Result<()> {
    let router = Router::new()
        // That we answer is the answer: an Envoy that dies is started again without anybody's help.
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(health);
    let listener = listen(args.healthz_host, args.healthz_port).await?;
    let listener = with_write_timeout(listener, ListenerLimits::WRITE_TIMEOUT);
    tasks.spawn(
        "healthz-port",
        serve_router(listener, router, ListenerLimits::OPERATORS),
    );
    Ok(())
}

/// Everywhere, unless told where; on a machine without IPv6 that is every IPv4 address.
async fn listen(host: Option<IpAddr>, port: u16) -> anyhow::Result<TcpListener> {
    let everywhere = [
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    ];
    let candidates = host.map_or(everywhere.to_vec(), |host| vec![host]);
    let addresses: Vec<SocketAddr> = candidates
        .into_iter()
        .map(|ip| SocketAddr::new(ip, port))
        .collect();
    TcpListener::bind(addresses.as_slice())
        .await
        .with_context(|| {
            format!("health port {port}; choose another with --healthz-host and --healthz-port")
        })
}

async fn readyz(State(health): State<Health>) -> Response {
    match health.ready().await {
        Ok(()) => "ok\n".into_response(),
        Err(error) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("not ready: {error}\n"),
        )
            .into_response(),
    }
}

/// Nothing else of Envoy's admin interface.
async fn metrics(State(health): State<Health>) -> Response {
    match health.page().await {
        Ok(page) => page.into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};

    use super::*;

    /// Answers for Envoy, and counts.
    async fn admin(listener: UnixListener, asked: Arc<AtomicUsize>) {
        while let Ok((stream, _)) = listener.accept().await {
            answer(stream, &asked).await.unwrap();
        }
    }

    async fn answer(mut stream: UnixStream, asked: &AtomicUsize) -> std::io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let is_counted = [&b"GET /ready"[..], b"GET /stats/prometheus"]
            .iter()
            .any(|path| head.starts_with(path));
        asked.fetch_add(usize::from(is_counted), Ordering::SeqCst);
        let body = r#"{"listener_statuses": []}"#;
        let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length";
        let answer = format!("{head}: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await
    }

    /// Of an Envoy at this socket. The sender says that it leaves.
    fn health(admin_socket: &Path) -> (Health, watch::Sender<bool>) {
        let running = sluice_dataplane::envoy::Running {
            admin_socket: admin_socket.to_owned(),
            pid: Default::default(),
        };
        let (leave, leaving) = watch::channel(false);
        let metrics = DataPlaneMetrics::new(&Identity::default(), Running::Envoy(running));
        let health = Health {
            admin_socket: admin_socket.to_owned(),
            leaving,
            metrics: metrics.unwrap(),
            ready: SharedAnswer::default(),
            page: SharedPage::default(),
        };
        (health, leave)
    }

    #[tokio::test]
    async fn however_many_ask_envoy_is_asked_once_and_who_leaves_says_so_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("admin.sock");
        let asked = Arc::new(AtomicUsize::new(0));
        let listener = UnixListener::bind(&socket).unwrap();
        let (health, leave) = health(&socket);
        let ask = async {
            let many = || (0..100).map(|_| health.clone());
            let ready = many().map(|health| async move { health.ready().await });
            let ready = futures::future::join_all(ready).await;
            assert!(ready.iter().all(|ready| {
                let reason = ready.as_ref().unwrap_err();
                reason.starts_with("it has no listener")
            }));
            assert_eq!(asked.load(Ordering::SeqCst), 1, "for its readiness");
            let pages = many().map(|health| async move { health.page().await.is_ok() });
            let pages = futures::future::join_all(pages).await;
            assert!(pages.iter().all(|is_there| *is_there));
            assert_eq!(asked.load(Ordering::SeqCst), 2, "for its statistics");
            leave.send(true).unwrap();
            assert_eq!(health.ready().await, Err("stopping".to_owned()));
        };
        tokio::select! {
            () = ask => {}
            () = admin(listener, asked.clone()) => panic!("the admin interface is gone"),
        }
    }
}
