//! `sluice run`: everything put together.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::future::OptionFuture;
use sluice_authz::{Authorizer, NonceKey};
use sluice_dataplane::run_dir::RunDir;
use sluice_dataplane::{memory, open_files};
use sluice_firewall::Firewall;
use sluice_health::Checks;
use sluice_resolver::{Dns, Names};
use sluice_tasks::Tasks;
use sluice_translate::{AddressPolicy, Options};
use sluice_xds::{Certificate, KEY_FILE, Settings};
use sluice_xds_server::Store;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use crate::admin_services::{AdminInputs, AdminServices};
use crate::args::{DataPlane, ListenAddress, NativeBalancing, ObjectSource, Run};
use crate::data_plane::Child;
use crate::object_source::{self, Source};
use crate::signals::{Signals, unless_stopped};
use crate::{access_log, certificate, data_plane, log, options, ports};
use sluice_publish::{Publisher, ReloadEvents, ReportLog};
use sluice_server::{Address, Served, SharedLog};
use sluice_state::View;

/// Unix socket of the web application firewall, in the run directory.
const FIREWALL_SOCKET: &str = "firewall.sock";
/// Time for blocking work that nobody waits for any more.
const LEFT_OVER: Duration = Duration::from_secs(1);
/// So many kept bodies fit into the memory of an Envoy of ours.
const UPLOADS: u64 = 256;

pub(crate) fn run(args: &Run) -> anyhow::Result<()> {
    log::to_stderr(&args.log.filter(), args.log.log_format);
    for flag in &args.without_effect {
        warn!("{flag}");
    }
    check(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("runtime")?;
    let ended = runtime.block_on(serve_until_told(args));
    // A page that is being computed for somebody does not keep the process.
    runtime.shutdown_timeout(LEFT_OVER);
    ended
}

/// Checks flags before anything starts.
fn check(args: &Run) -> anyhow::Result<()> {
    if let ObjectSource::Files(folder) = object_source::from_args(args)?
        && !folder.is_dir()
    {
        let folder_name = folder.display();
        match folder.exists() {
            true => bail!(
                "--manifests {folder_name}: is a file; expected a folder (`sluice lint` takes files)"
            ),
            false => bail!("--manifests {folder_name}: no such folder"),
        }
    }
    ports::differ(args)?;
    match args.data_plane {
        DataPlane::Envoy | DataPlane::Nginx => Ok(()),
        DataPlane::None => check_xds(args),
    }
}

/// Any client that connects gets the private keys of all hosts. Loopback is no protection: a proxy can be talked into connecting.
fn check_xds(args: &Run) -> anyhow::Result<()> {
    match (&args.xds_address, &args.xds_certificates) {
        (Some(ListenAddress::Tcp(_)), Some(_)) if args.xds_plaintext => {
            bail!("--xds-plaintext cannot be combined with --xds-certificates")
        }
        (Some(ListenAddress::Tcp(address)), None) if !args.xds_plaintext => bail!(
            "--xds-address {address}: private keys are served here to any client that connects; give \
             --xds-certificates DIR (mutual TLS), listen on unix:PATH, or accept that with --xds-plaintext"
        ),
        (None | Some(ListenAddress::Unix(_)), Some(_)) => {
            bail!("--xds-certificates: only with --xds-address IP:PORT, a unix socket has no TLS")
        }
        _ => Ok(()),
    }
}

async fn serve_until_told(args: &Run) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let tasks = Tasks::default();
    let start = start(args, &tasks);
    let Some(started) = unless_stopped(start, signals.wait(), &tasks).await? else {
        info!("stopping before anything was served");
        return Ok(());
    };
    let grace = tokio::select! {
        () = signals.wait() => args.shutdown.shutdown_grace_period,
        () = started.admin.stop.asked() => args.shutdown.shutdown_grace_period,
        failure = tasks.failed() => {
            if failure.is_unexplained() {
                error!("{failure}");
            }
            0
        }
    };
    info!("stopping");
    started.admin.health.stop();
    signals
        .pause(Duration::from_secs(grace), "still serving")
        .await;
    tasks.stop();
    started.end().await;
    match tasks.failure() {
        Some(failure) => Err(failure.into()),
        None => {
            let rest = args.shutdown.post_shutdown_grace_period();
            signals.pause(rest, "metrics and logs are served").await;
            Ok(())
        }
    }
}

/// A controller that runs.
struct Started {
    admin: AdminServices,
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
        // A panic was logged already.
        let drained = async { drop(OptionFuture::from(self.data_plane).await) };
        // Addresses go out of the status while open requests end: neither waits for the other.
        tokio::join!(self.source.leave(), drained);
        self.publisher.abort();
    }
}

/// Services for data planes.
fn served(
    view: &View,
    options: &Options,
    dns: Dns,
    nonces: NonceKey,
    firewall: Firewall,
    tasks: &Tasks,
) -> anyhow::Result<Served> {
    let settings = sluice_authz::Settings {
        addresses: options.addresses.clone(),
        cdn_id: options.cdn_id.clone(),
    };
    let policies = Arc::new(view.clone());
    Ok(Served {
        log: SharedLog::default(),
        store: Store::new(),
        authorizer: Authorizer::new(policies, settings, dns, nonces, tasks)?,
        firewall,
    })
}

/// Key of the nonces of digest authentication. It comes from the private key that all replicas have; without one, from that of the
/// run directory, which the next controller has.
fn nonces(args: &Run, default: &Certificate) -> anyhow::Result<NonceKey> {
    let remote = args
        .xds_certificates
        .as_ref()
        .filter(|_| args.data_plane == DataPlane::None);
    let Some(folder) = remote else {
        return Ok(NonceKey::from_secret(default.key.as_bytes()));
    };
    let path = folder.join(KEY_FILE);
    let key = fs::read(&path).with_context(|| path.display().to_string())?;
    Ok(NonceKey::from_secret(&key))
}

fn firewall(args: &Run, run_dir: &RunDir, tasks: &Tasks) -> Firewall {
    let socket = run_dir.path.join(FIREWALL_SOCKET);
    let mut flags = vec!["--log-format", args.log.log_format.name()];
    flags.extend(args.metrics.access_log.then_some("--audit-log"));
    Firewall::new(socket, flags, tasks)
}

async fn start(args: &Run, tasks: &Tasks) -> anyhow::Result<Started> {
    let run_dir = RunDir::take(args.child.run_dir.as_deref())?;
    let options = translation_options(args)?;
    let certificate = certificate::of_folder(&run_dir.path)?;
    let default_chain = certificate.chain.clone();
    let nonces = nonces(args, &certificate)?;
    let settings = settings(args, &run_dir.path, certificate.clone())?;
    let address = address(args, &run_dir.path, tasks)?;
    let mut child = Child::prepare(args, &run_dir.path, &certificate, tasks).await?;
    ports::are_free(args, &child).await?;

    let (view, dns) = (View::default(), Dns::new(&args.dns_server));
    access_log::follow(args, &view, tasks);
    let firewall = firewall(args, &run_dir, tasks);
    let served = served(&view, &options, dns.clone(), nonces, firewall, tasks)?;
    let inputs = AdminInputs {
        view: &view,
        options: &options,
        served: &served,
        tasks,
        running: child.running(),
        probe: child.probe(),
        default_chain,
    };
    let mut admin = AdminServices::start(args, &run_dir.path, inputs).await?;
    let router = sluice_server::router(&served, admin.routes(&served, tasks));
    let peers = sluice_server::listen(&address, router, tasks).await?;
    let (sender, events) = mpsc::unbounded_channel();
    tasks.spawn("machines", peers.follow(sender.downgrade()));
    let source = object_source::follow(args, &options, sender, tasks).await?;
    let told = ReportLog::with_listener(source.notifications.clone());
    let election = source.election().into_iter();
    election.for_each(|election| admin.metrics.follow_election(election));
    admin.judge(args, &view, &options, tasks).await?;
    child.count_requests(admin.listener(), tasks);
    child.send_spans(&view, &admin.metrics, tasks);
    let metrics = admin.metrics.controller().clone();
    let (load_results, heard) = mpsc::unbounded_channel();
    let events_of_reloads = ReloadEvents {
        metrics: metrics.clone(),
        notifications: source.notifications.clone(),
        load_results,
    };
    let followed = followers(dns, tasks);
    let publisher = Publisher::new(options, settings, served, view, metrics, told, followed);
    let publisher = publisher.with_posts(admin.posts.take());

    let (stop, stopped) = watch::channel(false);
    let (publisher, data_plane) =
        child.supervise(args, publisher, (events_of_reloads, heard), stopped, tasks);
    let publisher = tasks.spawn("publisher", publisher.run(events));
    Ok(Started {
        admin,
        source,
        publisher,
        data_plane,
        stop,
        _run_dir: run_dir,
    })
}

/// Tasks that follow names, and the health of endpoints.
fn followers(dns: Dns, tasks: &Tasks) -> (Names, Checks) {
    let (names, follower) = Names::new(dns);
    tasks.spawn("names", follower.run());
    let (checks, prober) = Checks::new();
    tasks.spawn("health checks", prober.run());
    (names, checks)
}

fn translation_options(args: &Run) -> anyhow::Result<Options> {
    let xds_port = match &args.xds_address {
        Some(ListenAddress::Tcp(address)) if args.data_plane == DataPlane::None => {
            Some(address.port())
        }
        _ => None,
    };
    let others = xds_port
        .into_iter()
        .chain(args.admin.ports())
        .chain(args.dashboard.ports())
        .chain(args.webhook.port());
    let options = options::translation(&args.translation, &args.listeners, others);
    let is_folder = matches!(object_source::from_args(args)?, ObjectSource::Files(_));
    let addresses = AddressPolicy {
        written_loopback: is_folder,
        ..options.addresses
    };
    let data_plane = Some(args.data_plane.serving());
    let publish_service = args.cluster.publish_service.clone();
    let own_namespace = sluice_kube::own_namespace().filter(|_| !is_folder);
    let class_is_implied = is_folder;
    let options = Options {
        class_is_implied,
        data_plane,
        publish_service,
        own_namespace,
        addresses,
        health_check_path: args.admin.health_check_path.clone(),
        native_balancing: args.routes.native_balancing == NativeBalancing::Auto
            && args.data_plane != DataPlane::Nginx,
        ..options
    };
    Ok(match args.data_plane {
        DataPlane::Envoy => within_limits(options),
        DataPlane::Nginx | DataPlane::None => options,
    })
}

/// For an Envoy of ours, whose files and memory are known: one Service has half of the connections at most, and the bodies that are kept
/// for another pod fit into memory for [`UPLOADS`] requests.
fn within_limits(options: Options) -> Options {
    let connections = open_files::max_connections(open_files::raise_limit()) / 2;
    let connections = u32::try_from(connections).unwrap_or(u32::MAX);
    let kept_body = memory::limit().map_or(u64::MAX, |bytes| bytes / UPLOADS);
    Options {
        stream_connections: connections.clamp(1, options.stream_connections),
        kept_body: kept_body.min(options.kept_body),
        ..options
    }
}

/// How Envoy's resources are rendered.
fn settings(args: &Run, run_dir: &Path, certificate: Certificate) -> anyhow::Result<Settings> {
    let listeners = match args.data_plane {
        DataPlane::None => args.listeners.anywhere(),
        DataPlane::Envoy | DataPlane::Nginx => args.listeners.clone(),
    };
    let code = data_plane::filter_code(args, run_dir)?;
    let settings = options::envoy(&listeners, code, certificate);
    Ok(Settings {
        request_log: args.metrics.enable_metrics,
        access_log: args.metrics.access_log,
        scopes_from: args.routes.scopes_from,
        ..settings
    })
}

/// Address of the controller for data planes.
fn address(args: &Run, run_dir: &Path, tasks: &Tasks) -> anyhow::Result<Address> {
    let own = || Address::Unix(run_dir.join(data_plane::SOCKET));
    let asked = args
        .xds_address
        .as_ref()
        .filter(|_| args.data_plane == DataPlane::None);
    Ok(match (asked, &args.xds_certificates) {
        (None, _) => own(),
        (Some(ListenAddress::Unix(path)), _) => Address::Unix(path.clone()),
        (Some(ListenAddress::Tcp(address)), Some(folder)) => Address::Tls(
            *address,
            sluice_server::mutual_tls(folder, "--xds-certificates", tasks)?,
        ),
        (Some(ListenAddress::Tcp(address)), None) => Address::Tcp(*address),
    })
}
