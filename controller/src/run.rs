//! `sluice run`: everything put together.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use sluice_translate::{Kind, Options};
use sluice_xds::{Certificate, ControllerAddress, FilterCode};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{mpsc, watch};
use tracing::info;

use crate::args::{DataPlane, Origin, Run};
use crate::cluster::{Cluster, Inbox};
use crate::nginx::{self, Configurations, Nginx};
use crate::poll::SharedLog;
use crate::publish::Publisher;
use crate::reports::{News, Told};
use crate::serve::{self, Address};
use crate::source::{Event, Files, kube};
use crate::supervise::Envoy;
use crate::tls::ServerTls;
use crate::{binary, certificate, cluster, log, options};

pub(crate) fn run(args: &Run) -> anyhow::Result<()> {
    log::to_stderr();
    check(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("runtime")?;
    runtime.block_on(serve_until_told(args))
}

/// What can be known to go wrong is said before anything starts.
fn check(args: &Run) -> anyhow::Result<()> {
    if let Origin::Files(folder) = origin(args)?
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

fn origin(args: &Run) -> anyhow::Result<Origin> {
    args.source.origin(cluster::is_in_cluster())
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
    let signals = Signals::listen()?;
    let run_dir = RunDir::new(args.child.run_dir.as_deref())?;
    let others = (args.data_plane == DataPlane::None).then_some(args.xds_address.port());
    let class_is_implied = matches!(origin(args)?, Origin::Files(_));
    let options = options::translation(&args.translation, &args.listeners, others);
    let options = Options { class_is_implied, ..options };
    let certificate = certificate::self_signed()?;
    let settings = options::envoy(&args.listeners, code(args)?, certificate.clone());
    let address = match args.data_plane {
        DataPlane::Envoy | DataPlane::Nginx => Address::Unix(run_dir.path.join("controller.sock")),
        DataPlane::None => match &args.xds_certificates {
            Some(folder) => Address::Tls(args.xds_address, ServerTls::follow(folder.clone())?),
            None => Address::Tcp(args.xds_address),
        },
    };

    let shared_log = SharedLog::new();
    let store = sluice_xds::Store::new();
    serve::serve(&address, serve::router(shared_log.clone(), sluice_xds::routes(&store))).await?;
    let (sender, events) = mpsc::unbounded_channel();
    let source = follow(args, &options, sender).await?;
    let told = Told::also_to(source.news.clone());
    let publisher = Publisher::new(options, settings, shared_log, store, told);

    let (stop, stopped) = watch::channel(false);
    let (publisher, data_plane) = match address {
        Address::Unix(socket) if args.data_plane == DataPlane::Nginx => {
            let (nginx, configurations) = prepare_nginx(args, &run_dir.path, &socket, &certificate)?;
            let supervisor = nginx.supervise(stopped, announce(args));
            (publisher.with_nginx(configurations), Some(tokio::spawn(supervisor)))
        }
        Address::Unix(socket) => {
            (publisher, Some(tokio::spawn(start_envoy(args, &run_dir.path, socket, stopped)?)))
        }
        Address::Tcp(_) | Address::Tls(..) => {
            info!("serving xds on {}", args.xds_address);
            (publisher, None)
        }
    };
    let publisher = tokio::spawn(publisher.run(events));
    signals.wait().await;
    tokio::time::sleep(Duration::from_secs(args.shutdown.shutdown_grace_period)).await;
    stop.send(true).ok();
    // Addresses go out of the status while open requests end: neither waits for the other.
    let leave = async {
        if let Some(cluster) = source.cluster {
            cluster.leave().await;
        }
    };
    let drain = async {
        match data_plane {
            Some(data_plane) => data_plane.await.context("supervisor"),
            None => Ok(()),
        }
    };
    let ((), drained) = tokio::join!(leave, drain);
    publisher.abort();
    drained
}

/// What must stay for the source to be followed, and who wants to hear of reports.
struct Source {
    _files: Option<Files>,
    cluster: Option<Cluster>,
    news: Option<UnboundedSender<Vec<News>>>,
}

async fn follow(
    args: &Run,
    options: &Options,
    events: UnboundedSender<Vec<Event>>,
) -> anyhow::Result<Source> {
    let folder = match origin(args)? {
        Origin::Files(folder) => folder,
        Origin::Kube => return follow_cluster(args, options, events).await,
    };
    Ok(Source { _files: Some(Files::follow(&folder, events)?), cluster: None, news: None })
}

async fn follow_cluster(
    args: &Run,
    options: &Options,
    events: UnboundedSender<Vec<Event>>,
) -> anyhow::Result<Source> {
    let client = cluster::connect(&args.source).await?;
    let (sightings, sighted) = mpsc::unbounded_channel();
    let (news, heard) = mpsc::unbounded_channel();
    let inbox = Inbox { sightings: sighted, news: heard };
    let cluster = Cluster::start(&client, &args.cluster, inbox)?;
    let settings = kube::Settings {
        options: options.clone(),
        namespace_selector: args.source.watch_namespace_selector.clone(),
        always: options.configmap.iter().map(|key| (Kind::ConfigMap, key.clone())).collect(),
    };
    let listeners = kube::Listeners { events, sightings, news: news.clone() };
    kube::follow(client, settings, listeners).await?;
    Ok(Source { _files: None, cluster: Some(cluster), news: Some(news) })
}

fn start_envoy(
    args: &Run,
    run_dir: &Path,
    socket: PathBuf,
    stopped: watch::Receiver<bool>,
) -> anyhow::Result<impl Future<Output = ()> + use<>> {
    let controller = ControllerAddress::Unix(socket);
    let envoy = Envoy::prepare(&args.child, &args.shutdown, run_dir, "envoy", controller)?;
    Ok(envoy.supervise(stopped, announce(args)))
}

fn prepare_nginx(
    args: &Run,
    run_dir: &Path,
    controller: &Path,
    certificate: &Certificate,
) -> anyhow::Result<(Nginx, Configurations)> {
    let folder = nginx::folder(run_dir)?;
    let settings = options::nginx(args, &folder, controller, certificate)?;
    let configurations = Configurations::new(settings.clone());
    let nginx = Nginx {
        binary: binary::find(args.nginx.nginx_binary.as_deref(), "nginx", "--nginx-binary", "NGINX_BINARY")?,
        folder,
        http: settings.http,
        drain_timeout: args.shutdown.drain_timeout,
        configurations: configurations.subscribe(),
    };
    Ok((nginx, configurations))
}

/// What is said whenever a data plane has become ready to serve.
fn announce(args: &Run) -> impl Fn() + Clone + Send + use<> {
    let http = SocketAddr::new(args.listeners.bind_address, args.listeners.http_port);
    let https = SocketAddr::new(args.listeners.bind_address, args.listeners.https_port);
    move || info!("serving http on {http}, https on {https}")
}

/// The filter as Envoys get it.
fn code(args: &Run) -> anyhow::Result<FilterCode> {
    let wasm = || binary::companion(args.filter_wasm.as_deref(), "sluice_filter.wasm", "--filter-wasm");
    Ok(match args.data_plane {
        DataPlane::Envoy => FilterCode::File(wasm()?),
        DataPlane::None => {
            let filter = wasm()?;
            FilterCode::Inline(std::fs::read(&filter).with_context(|| filter.display().to_string())?)
        }
        // There is none to get it; nginx has its own.
        DataPlane::Nginx => FilterCode::Inline(Vec::new()),
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

    pub(crate) async fn wait(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
        info!("stopping");
    }
}
