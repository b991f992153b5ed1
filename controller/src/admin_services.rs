//! Servers of the admin interface: probes, Prometheus, `sluice dbg`, and the webhook.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sluice_metrics::Running;
use sluice_tasks::Tasks;
use sluice_translate::{Options, Rules};
use sluice_xds_server::{AccessLogEntry, AccessLogService};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::Run;
use sluice_admin::{AdminFlags, Health, Local, Probe, Stop};
use sluice_admission::Judge;
use sluice_dashboard::{Dashboard, Traffic};
use sluice_metrics::{Identity, Metrics};
use sluice_server::Served;
use sluice_state::{Post, Posts, View};

/// Our own socket for what changes something, in the run folder.
const ADMIN: &str = "admin.sock";

/// Inputs of these servers.
pub(crate) struct AdminInputs<'a> {
    pub(crate) view: &'a View,
    pub(crate) options: &'a Options,
    pub(crate) served: &'a Served,
    pub(crate) tasks: &'a Tasks,
    pub(crate) running: Option<Running>,
    pub(crate) probe: Probe,
    /// The certificate of hosts that have none of their own.
    pub(crate) default_chain: String,
}

fn nginx(running: &Running) -> Option<sluice_dataplane::nginx::Running> {
    match running {
        Running::Nginx(nginx) => Some(nginx.clone()),
        Running::Envoy(_) => None,
    }
}

fn socket(flags: &AdminFlags, run_dir: &Path) -> PathBuf {
    let socket = flags.admin_socket.clone();
    socket.unwrap_or_else(|| run_dir.join(ADMIN))
}

/// Counts for the dashboard, if there are both.
fn traffic(args: &Run) -> Option<Traffic> {
    let is_counted = args.metrics.enable_metrics && args.dashboard.dashboard_port != 0;
    is_counted.then(Traffic::default)
}

/// Everything that answers questions.
pub(crate) struct AdminServices {
    pub(crate) health: Health,
    pub(crate) metrics: Metrics,
    pub(crate) stop: Stop,
    /// Backends that are posted, for the publisher.
    pub(crate) posts: Option<(Posts, UnboundedReceiver<Post>)>,
    /// Counted for the dashboard.
    traffic: Option<Traffic>,
}

impl AdminServices {
    /// Starts answering probes, Prometheus and `sluice dbg`.
    pub(crate) async fn start(
        args: &Run,
        run_dir: &Path,
        at: AdminInputs<'_>,
    ) -> anyhow::Result<Self> {
        let AdminInputs {
            view,
            options,
            served,
            tasks,
            running,
            probe,
            default_chain,
        } = at;
        let flags = &args.admin;
        let nginx = running.as_ref().and_then(nginx);
        let identity = Identity::from_env(&args.translation.controller_class);
        let data_plane = sluice_metrics::DataPlane::new(running)?;
        let counted = args.metrics.enable_metrics.then_some(&args.metrics);
        let metrics = Metrics::new(
            &identity,
            view.clone(),
            served.store.clone(),
            data_plane.clone(),
            counted,
        )?;
        let progress = view.progress().clone();
        let health = Health::new(tasks.clone(), progress, probe, flags.health_check_timeout);
        let default_service = args.translation.default_backend_service.clone();
        let traffic = traffic(args);
        let dashboard = Dashboard {
            view: view.clone(),
            options: Arc::new(options.clone()),
            store: served.store.clone(),
            nginx,
            traffic: traffic.clone(),
        };
        let dashboard = sluice_dashboard::serve(&args.dashboard, dashboard, tasks).await?;
        let posts = flags.admin_writes.then(Posts::new);
        let local = Local {
            view: view.clone(),
            health: health.clone(),
            data_plane,
            default_chain,
            default_service,
            store: served.store.clone(),
            dashboard: dashboard.map(|url| url.to_string()),
            posts: posts.as_ref().map(|(posts, _)| posts.clone()),
        };
        let socket = socket(flags, run_dir);
        let stop = Stop::default();
        sluice_admin::serve(flags, &socket, local, metrics.clone(), stop.clone(), tasks).await?;
        Ok(AdminServices {
            health,
            metrics,
            stop,
            posts,
            traffic,
        })
    }

    /// gRPC services for data planes: configuration, authorization, and the access log if requests are counted.
    pub(crate) fn routes(&self, served: &Served, tasks: &Tasks) -> tonic::service::Routes {
        let tasks = tasks.clone();
        let spawn = move |session| drop(tasks.spawn_finite("xds session", session));
        let routes = served
            .authorizer
            .service()
            .merge_into(sluice_xds_server::discovery_service(&served.store, spawn));
        match self.listener() {
            Some(listener) => AccessLogService::new(listener).merge_into(routes),
            None => routes,
        }
    }

    /// Counts served requests. `None`: they are not counted.
    pub(crate) fn listener(&self) -> Option<impl Fn(&[AccessLogEntry]) + Send + Sync + 'static> {
        let (requests, traffic) = (self.metrics.requests().cloned()?, self.traffic.clone());
        Some(move |served: &[AccessLogEntry]| {
            requests.take(served);
            if let Some(traffic) = &traffic {
                traffic.take(served);
            }
        })
    }

    /// Answers the API server, when the flags ask for it.
    pub(crate) async fn judge(
        &self,
        args: &Run,
        view: &View,
        options: &Options,
        tasks: &Tasks,
    ) -> anyhow::Result<()> {
        let judge = Judge {
            view: view.clone(),
            options: Arc::new(options.clone()),
            rules: Arc::new(Rules {
                deep_inspect: args.webhook.deep_inspect,
            }),
            metrics: self.metrics.admission().clone(),
        };
        sluice_admission::serve(&args.webhook, judge, tasks).await
    }
}
