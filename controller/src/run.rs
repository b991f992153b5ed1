//! `sluice run`: everything put together.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use futures::future::OptionFuture;
use sluice_translate::Options;
use sluice_xds::{Certificate, Settings, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::info;

use crate::args::{DataPlane, Origin, Run};
use crate::data_plane::Child;
use crate::guard::Guards;
use crate::nginx::Outcome;
use crate::observers::{LookedAt, Observers};
use crate::origin::{self, Source};
use crate::poll::SharedLog;
use crate::publish::{Publisher, Served};
use crate::reports::Told;
use crate::serve::{self, Address};
use crate::tasks::Tasks;
use crate::tls::ServerTls;
use crate::view::View;
use crate::{certificate, data_plane, log, options};

pub(crate) fn run(args: &Run) -> anyhow::Result<()> {
    log::to_stderr(&args.log.filter());
    check(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("runtime")?;
    runtime.block_on(serve_until_told(args))
}

/// What can be known to go wrong is said before anything starts.
fn check(args: &Run) -> anyhow::Result<()> {
    if let Origin::Files(folder) = origin::of(args)?
        && !folder.is_dir()
    {
        bail!("--manifests {}: no such folder", folder.display());
    }
    match args.data_plane {
        DataPlane::Envoy | DataPlane::Nginx => {
            check_port(args.listeners.bind_address, args.listeners.http_port, "--http-port")?;
            check_port(args.listeners.bind_address, args.listeners.https_port, "--https-port")
        }
        // Whoever can connect gets the private keys of all hosts.
        DataPlane::None if args.xds_certificates.is_none() && !args.xds_address.ip().is_loopback() => bail!(
            "--xds-address {}: private keys are served here; give --xds-certificates or listen on loopback",
            args.xds_address
        ),
        DataPlane::None => Ok(()),
    }
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
pub(crate) struct RunDir {
    pub(crate) path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl RunDir {
    pub(crate) fn new(given: Option<&Path>) -> anyhow::Result<Self> {
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
    let mut signals = Signals::listen()?;
    let tasks = Tasks::default();
    let started = tokio::select! {
        started = start(args, &tasks) => started?,
        () = signals.wait() => return Ok(()),
        failure = tasks.failed() => return Err(failure.into()),
    };
    let grace = tokio::select! {
        () = signals.wait() => args.shutdown.shutdown_grace_period,
        () = started.admin.stop.asked() => args.shutdown.shutdown_grace_period,
        _ = tasks.failed() => 0,
    };
    info!("stopping");
    started.admin.health.stop();
    tokio::time::sleep(Duration::from_secs(grace)).await;
    tasks.stop();
    started.end().await;
    match tasks.failure() {
        Some(failure) => Err(failure.into()),
        None => {
            tokio::time::sleep(Duration::from_secs(args.shutdown.post_shutdown_grace_period)).await;
            Ok(())
        }
    }
}

/// A controller that runs.
struct Started {
    admin: Observers,
    source: Source,
    publisher: JoinHandle<()>,
    data_plane: Option<JoinHandle<()>>,
    /// Tells the data plane to drain and end.
    stop: watch::Sender<bool>,
    _run_dir: RunDir,
}

impl Started {
    async fn end(self) {
        self.stop.send(true).ok();
        // A task that panicked has said so.
        let drained = async { drop(OptionFuture::from(self.data_plane).await) };
        // Addresses go out of the status while open requests end: neither waits for the other.
        tokio::join!(self.source.leave(), drained);
        self.publisher.abort();
    }
}

async fn start(args: &Run, tasks: &Tasks) -> anyhow::Result<Started> {
    let run_dir = RunDir::new(args.child.run_dir.as_deref())?;
    let options = translation_options(args)?;
    let certificate = certificate::self_signed()?;
    let default_chain = certificate.chain.clone();
    let settings = settings(args, certificate.clone())?;
    let address = address(args, &run_dir.path, tasks)?;
    let mut child = Child::prepare(args, &run_dir.path, &certificate, tasks)?;

    let view = View::default();
    let (log, store, guards) = (SharedLog::new(), Store::new(), Guards::new(view.clone())?);
    let served = Served { log, store, guards };
    let (envoy, probe) = (child.envoy(), child.probe());
    let looked_at = LookedAt { view: &view, served: &served, tasks, envoy, probe, default_chain };
    let admin = Observers::start(args, &run_dir.path, looked_at).await?;
    serve::serve(&address, serve::router(&served, admin.routes(&served, tasks)), tasks).await?;
    let (sender, events) = mpsc::unbounded_channel();
    let source = origin::follow(args, &options, sender, tasks).await?;
    let told = Told::also_to(source.news.clone());
    source.election().into_iter().for_each(|election| admin.metrics.follow_election(election));
    admin.judge(args, &view, &options, tasks).await?;
    child.count_requests(admin.metrics.requests(), tasks);
    let metrics = admin.metrics.controller().clone();
    let outcome = Outcome { metrics: metrics.clone(), news: source.news.clone() };
    let publisher = Publisher::new(options, settings, served, view, metrics, told);

    let (stop, stopped) = watch::channel(false);
    let (publisher, data_plane) = child.supervise(args, publisher, outcome, stopped, tasks);
    let publisher = tasks.spawn("publisher", publisher.run(events));
    Ok(Started { admin, source, publisher, data_plane, stop, _run_dir: run_dir })
}

fn translation_options(args: &Run) -> anyhow::Result<Options> {
    let xds_port = (args.data_plane == DataPlane::None).then_some(args.xds_address.port());
    let others = xds_port.into_iter().chain(args.admin.ports());
    let options = options::translation(&args.translation, &args.listeners, others);
    let class_is_implied = matches!(origin::of(args)?, Origin::Files(_));
    Ok(Options { class_is_implied, data_plane: Some(args.data_plane.serving()), ..options })
}

/// How Envoy's resources are rendered.
fn settings(args: &Run, certificate: Certificate) -> anyhow::Result<Settings> {
    let settings = options::envoy(&args.listeners, data_plane::filter_code(args)?, certificate);
    Ok(Settings {
        request_log: args.metrics.enable_metrics,
        access_log: args.metrics.access_log,
        scopes_from: args.scopes_from,
        ..settings
    })
}

/// Where data planes find us.
fn address(args: &Run, run_dir: &Path, tasks: &Tasks) -> anyhow::Result<Address> {
    Ok(match (args.data_plane, &args.xds_certificates) {
        (DataPlane::Envoy | DataPlane::Nginx, _) => Address::Unix(run_dir.join(data_plane::SOCKET)),
        (DataPlane::None, Some(folder)) => {
            Address::Tls(args.xds_address, ServerTls::follow(folder.clone(), tasks)?)
        }
        (DataPlane::None, None) => Address::Tcp(args.xds_address),
    })
}

pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
