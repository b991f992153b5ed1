//! The data plane that we run ourselves, if we run one.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use rustix::process::Pid;
use sluice_nginx::{Engine, Settings};
use sluice_tasks::Tasks;
use sluice_xds::{Certificate, ControllerAddress, FilterCode};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::info;

use crate::admin::Probe;
use crate::args::{DataPlane, Run};
use crate::child_log::ChildLog;
use crate::metrics::Requests;
use crate::nginx::{
    self, AccessLog, Certificates, Configurations, Found, Nginx, Outcome, Owners, RequestLog,
    Verdict,
};
use crate::publish::Publisher;
use crate::supervise::Envoy;
use crate::{binary, options};

/// Where a data plane of our own finds us, in the run folder.
pub(crate) const SOCKET: &str = "controller.sock";

/// What we run.
pub(crate) enum Child {
    Envoy(Box<Envoy>),
    Nginx(Box<Nginx>, Box<Configurations>),
    /// Data planes that somebody else runs come to us.
    None,
}

impl Child {
    /// Finds the program and prepares its folder; nothing is started yet.
    pub(crate) fn prepare(
        args: &Run,
        run_dir: &Path,
        certificate: &Certificate,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        match args.data_plane {
            DataPlane::Envoy => {
                let controller = ControllerAddress::Unix(run_dir.join(SOCKET));
                let (flags, shutdown) = (&args.child, &args.shutdown);
                Envoy::prepare(flags, shutdown, run_dir, "envoy", controller, tasks)
                    .map(|envoy| Child::Envoy(Box::new(envoy)))
            }
            DataPlane::Nginx => prepare_nginx(args, run_dir, certificate, tasks),
            DataPlane::None => Ok(Child::None),
        }
    }

    /// An Envoy has an admin interface that can be asked.
    pub(crate) fn envoy(&self) -> Option<&Envoy> {
        match self {
            Child::Envoy(envoy) => Some(envoy),
            Child::Nginx(..) | Child::None => None,
        }
    }

    /// Those that a controller before us has left, and that have the ports.
    pub(crate) fn found(&self) -> Vec<Pid> {
        match self {
            Child::Envoy(envoy) => envoy.found().collect(),
            Child::Nginx(nginx, _) => nginx.found.pid().into_iter().collect(),
            Child::None => Vec::new(),
        }
    }

    /// How it is asked whether it serves.
    pub(crate) fn probe(&self) -> Probe {
        match self {
            Child::Envoy(envoy) => Probe::Envoy(envoy.admin_socket().to_owned()),
            Child::Nginx(nginx, _) => Probe::Nginx {
                pid: nginx.pid(),
                http: nginx.http(),
            },
            Child::None => Probe::Nobody,
        }
    }

    /// Counts the requests that it tells of. Envoys tell of theirs themselves.
    pub(crate) fn count_requests(&mut self, requests: Option<&Requests>, tasks: &Tasks) {
        if let Child::Nginx(nginx, _) = self
            && let Some((log, requests)) = nginx.requests.take().zip(requests)
        {
            tasks.spawn("request log", log.follow(requests.clone()));
        }
    }

    /// Starts it, or takes over the one that runs, and keeps it running until it is told to stop; the publisher learns what it has to write for it.
    pub(crate) fn supervise(
        self,
        args: &Run,
        publisher: Publisher,
        (outcome, verdicts): (Outcome, UnboundedReceiver<Verdict>),
        stopped: watch::Receiver<bool>,
        tasks: &Tasks,
    ) -> (Publisher, Option<JoinHandle<()>>) {
        match self {
            Child::Envoy(envoy) => {
                let supervisor =
                    tasks.spawn("envoy supervisor", envoy.supervise(stopped, announce(args)));
                (publisher, Some(supervisor))
            }
            Child::Nginx(nginx, configurations) => {
                let supervisor = nginx.supervise(stopped, outcome, announce(args));
                let supervisor = tasks.spawn("nginx supervisor", supervisor);
                (
                    publisher.with_nginx(*configurations, verdicts),
                    Some(supervisor),
                )
            }
            Child::None => (publisher, None),
        }
    }
}

/// ConfigMaps that nginx's settings come from.
fn owners(args: &Run) -> Owners {
    let maps = args.translation.clone();
    Owners {
        edge: maps.configmap,
        tcp: maps.tcp_services_configmap,
        udp: maps.udp_services_configmap,
    }
}

fn prepare_nginx(
    args: &Run,
    run_dir: &Path,
    certificate: &Certificate,
    tasks: &Tasks,
) -> anyhow::Result<Child> {
    let folder = nginx::folder(run_dir)?;
    let chosen = args.nginx.nginx_binary.as_deref();
    let binary = binary::find(chosen, "nginx", "--nginx-binary", "NGINX_BINARY")?;
    let found = Found::look(&folder);
    let left = found.left();
    let settings = options::nginx(args, &folder, &run_dir.join(SOCKET))?;
    let counted = args
        .metrics
        .enable_metrics
        .then(|| RequestLog::open(settings.folder.join("requests.log")));
    let counted = counted.transpose()?;
    let requests = counted.as_ref().map(|log| log.path().to_owned());
    let access_log = args
        .metrics
        .access_log
        .then(|| AccessLog::open(&settings.folder))
        .transpose()?;
    access_log.iter().try_for_each(|log| log.follow(tasks))?;
    let files = access_log.as_ref().map(AccessLog::files);
    let logged = Settings {
        requests,
        access_log: files,
        ..settings
    };
    let settings = nginx::know(&binary, logged);
    if let Engine::Kong { cache, .. } = &settings.engine {
        nginx::prepare_cache(cache)?;
    }
    let certificates = Certificates::new(settings.certificates(), certificate, left)?;
    let configurations = Configurations::new(
        settings.clone(),
        certificates.clone(),
        owners(args),
        left,
        binary.clone(),
    )?;
    let log = ChildLog::open(&folder.join("nginx.log"), nginx::pass_on)?;
    tasks.spawn("nginx log", log.clone().follow());
    let nginx = Nginx {
        binary,
        folder,
        http: settings.http,
        drain_timeout: args.shutdown.drain_timeout,
        pid: Arc::default(),
        configurations: configurations.subscribe(),
        certificates,
        requests: counted,
        access_log,
        log,
        found,
        tasks: tasks.clone(),
    };
    Ok(Child::Nginx(Box::new(nginx), Box::new(configurations)))
}

/// What is said whenever a data plane has become ready to serve.
fn announce(args: &Run) -> impl Fn() + Send + Sync + use<> {
    let http = SocketAddr::new(args.listeners.bind_address, args.listeners.http_port);
    let https = SocketAddr::new(args.listeners.bind_address, args.listeners.https_port);
    move || info!("serving http on {http}, https on {https}")
}

/// The filter as Envoys get it.
pub(crate) fn filter_code(args: &Run) -> anyhow::Result<FilterCode> {
    Ok(match args.data_plane {
        DataPlane::Envoy => FilterCode::File(options::filter_wasm(args)?),
        DataPlane::None => {
            let filter = options::filter_wasm(args)?;
            FilterCode::Inline(
                std::fs::read(&filter).with_context(|| filter.display().to_string())?,
            )
        }
        // There is none to get it; nginx has its own.
        DataPlane::Nginx => FilterCode::Inline(Vec::new()),
    })
}
