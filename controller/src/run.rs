//! `sluice run`: everything put together.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use anyhow::{Context, bail};
use sluice_translate::{Options, Rules};
use sluice_xds::{BootstrapSettings, ControllerAddress, FilterCode, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::info;

use crate::admin::{self, Health, Local, Stop};
use crate::admission::{self, Judge};
use crate::args::{DataPlane, Run};
use crate::metrics::{self, Identity, Metrics};
use crate::poll::SharedLog;
use crate::publish::Publisher;
use crate::serve::{self, Address};
use crate::source::Files;
use crate::supervise::{self, Envoy};
use crate::view::View;
use crate::{certificate, log, options};

/// Our own socket for what changes something, in the run folder.
const ADMIN: &str = "admin.sock";
/// Envoy's admin socket, in the run folder.
const ENVOY_ADMIN: &str = "envoy-admin.sock";

pub(crate) fn run(args: &Run) -> anyhow::Result<()> {
    log::to_stderr();
    check(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("runtime")?;
    runtime.block_on(serve_until_told(args))
}

/// What can be known to go wrong is said before anything starts.
fn check(args: &Run) -> anyhow::Result<()> {
    if !args.manifests.is_dir() {
        bail!("--manifests {}: no such folder", args.manifests.display());
    }
    if args.data_plane == DataPlane::Envoy {
        check_port(args.listeners.bind_address, args.listeners.http_port, "--http-port")?;
        check_port(args.listeners.bind_address, args.listeners.https_port, "--https-port")?;
    }
    Ok(())
}

fn check_port(address: IpAddr, port: u16, flag: &str) -> anyhow::Result<()> {
    match TcpListener::bind(SocketAddr::new(address, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            bail!("{flag} {port}: the port is taken; choose another with {flag}")
        }
        Err(error) => bail!("{flag} {port}: cannot listen on {address}: {error}; choose another with {flag}"),
    }
}

/// The folder for sockets and the bootstrap: the operator's, or a temporary one that goes when we do.
struct RunDir {
    path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl RunDir {
    fn new(given: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(path) = given {
            std::fs::create_dir_all(path).with_context(|| format!("--run-dir {}", path.display()))?;
            return Ok(RunDir { path: path.to_owned(), _temporary: None });
        }
        let temporary =
            tempfile::Builder::new().prefix("sluice-").tempdir().context("cannot make a run folder")?;
        Ok(RunDir { path: temporary.path().to_owned(), _temporary: Some(temporary) })
    }
}

async fn serve_until_told(args: &Run) -> anyhow::Result<()> {
    let signals = Signals::listen()?;
    let run_dir = RunDir::new(args.run_dir.as_deref())?;
    let filter = filter_wasm(args.filter_wasm.as_deref())?;
    let xds_port = (args.data_plane == DataPlane::None).then_some(args.xds_address.port());
    let others = xds_port.into_iter().chain(args.admin.ports());
    let options = options::translation(&args.translation, &args.listeners, others);
    let code = match args.data_plane {
        DataPlane::Envoy => FilterCode::File(filter),
        DataPlane::None => {
            FilterCode::Inline(std::fs::read(&filter).with_context(|| filter.display().to_string())?)
        }
    };
    let certificate = certificate::self_signed()?;
    let default_chain = certificate.chain.clone();
    let settings = options::envoy(&args.listeners, code, certificate);
    let address = match args.data_plane {
        DataPlane::Envoy => Address::Unix(run_dir.path.join("controller.sock")),
        DataPlane::None => Address::Tcp(args.xds_address),
    };

    let shared_log = SharedLog::new();
    let store = Store::new();
    let view = View::default();
    let pid = Arc::new(AtomicU32::new(0));
    let admin = Admin::start(args, &run_dir.path, &view, &store, pid.clone(), default_chain).await?;

    serve::serve(&address, serve::router(shared_log.clone(), sluice_xds::routes(&store))).await?;
    let (sender, events) = mpsc::unbounded_channel();
    let _files = Files::follow(&args.manifests, sender)?;
    admin.judge(args, &view, &options).await?;
    let metrics = admin.metrics.controller().clone();
    let publisher = Publisher::new(options, settings, shared_log, store, view, metrics);
    let publisher = tokio::spawn(publisher.run(events));

    let (stop, stopped) = watch::channel(false);
    let data_plane = match args.data_plane {
        DataPlane::Envoy => Some(tokio::spawn(start_envoy(args, &run_dir.path, &address, pid, stopped)?)),
        DataPlane::None => {
            info!("serving xds on {}", args.xds_address);
            None
        }
    };
    tokio::select! {
        () = signals.wait() => {}
        () = admin.stop.asked() => {}
    }
    info!("stopping");
    admin.health.stop();
    tokio::time::sleep(Duration::from_secs(args.shutdown_grace_period)).await;
    stop.send(true).ok();
    if let Some(data_plane) = data_plane {
        data_plane.await.context("supervisor")?;
    }
    publisher.abort();
    Ok(())
}

/// Who looks at us, and what they may ask for.
struct Admin {
    health: Health,
    metrics: Metrics,
    stop: Stop,
}

impl Admin {
    async fn start(
        args: &Run,
        run_dir: &Path,
        view: &View,
        store: &Store,
        pid: Arc<AtomicU32>,
        default_chain: String,
    ) -> anyhow::Result<Self> {
        let flags = &args.admin;
        let envoy = (args.data_plane == DataPlane::Envoy).then(|| run_dir.join(ENVOY_ADMIN));
        let identity = Identity::of_this_pod(&args.translation.controller_class);
        let data_plane = metrics::DataPlane::new(envoy.clone(), pid)?;
        let metrics = Metrics::new(&identity, view.clone(), store.clone(), data_plane.clone())?;
        let health = Health::new(view.clone(), envoy, flags.health_check_timeout);
        let local = Local { view: view.clone(), health: health.clone(), data_plane, default_chain };
        let socket = flags.admin_socket.clone().unwrap_or_else(|| run_dir.join(ADMIN));
        let stop = Stop::default();
        admin::serve(flags, &socket, local, metrics.clone(), stop.clone()).await?;
        Ok(Admin { health, metrics, stop })
    }

    /// Answers the API server, when the flags ask for it.
    async fn judge(&self, args: &Run, view: &View, options: &Options) -> anyhow::Result<()> {
        let judge = Judge {
            view: view.clone(),
            options: Arc::new(options.clone()),
            rules: Arc::new(Rules { deep_inspect: args.webhook.deep_inspect, ..Rules::default() }),
            metrics: self.metrics.admission().clone(),
        };
        admission::serve(&args.webhook, judge).await
    }
}

fn start_envoy(
    args: &Run,
    run_dir: &Path,
    controller: &Address,
    pid: Arc<AtomicU32>,
    stopped: watch::Receiver<bool>,
) -> anyhow::Result<impl Future<Output = ()> + use<>> {
    let admin_socket = run_dir.join(ENVOY_ADMIN);
    let bootstrap = run_dir.join("bootstrap.json");
    let controller = match controller {
        Address::Unix(path) => ControllerAddress::Unix(path.clone()),
        Address::Tcp(address) => ControllerAddress::Tcp(*address),
    };
    let settings =
        BootstrapSettings { node_id: "envoy".to_owned(), admin_socket: admin_socket.clone(), controller };
    let text = serde_json::to_string_pretty(&sluice_xds::bootstrap(&settings)).context("bootstrap")?;
    std::fs::write(&bootstrap, text).with_context(|| bootstrap.display().to_string())?;
    let envoy = Envoy {
        binary: supervise::find_binary(args.envoy_binary.as_deref())?,
        bootstrap,
        admin_socket,
        concurrency: args.envoy_concurrency,
        drain_timeout: args.drain_timeout,
        pid,
    };
    let http = SocketAddr::new(args.listeners.bind_address, args.listeners.http_port);
    let https = SocketAddr::new(args.listeners.bind_address, args.listeners.https_port);
    Ok(envoy.supervise(stopped, move || info!("serving http on {http}, https on {https}")))
}

fn filter_wasm(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("sluice_filter.wasm"));
    let path = given.map(Path::to_owned).or_else(beside).unwrap_or_default();
    // Envoy reads it from wherever Envoy was started.
    std::path::absolute(&path).ok().filter(|path| path.is_file()).with_context(|| {
        format!("--filter-wasm {}: no such file; build it with `cargo xtask setup`", path.display())
    })
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn wait(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
