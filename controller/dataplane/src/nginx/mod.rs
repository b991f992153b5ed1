//! nginx as a data plane.
//!
//! ```text
//!   publisher --> Configurations --nginx.conf--> supervised: nginx -t --> reload --> ReloadEvent
//!                   |  |
//!                   |  +--> certificates: read by new handshakes, no reload
//!                   |  +--> host tables: read by workers when their filter is told something, no reload
//!                   +-----> endpoint files of TCP and UDP ports: read by new connections, no reload
//! ```

mod access_log;
mod adoption;
mod cert_targets;
mod certificates;
mod configuration_test;
mod configurations;
mod core_rules;
mod endpoint_files;
mod log_lines;
mod reload_event;
mod request_log;
mod running;
mod span_log;
mod supervised;
mod table_files;
mod workers;

use std::fs::{DirBuilder, Permissions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rustix::process::Pid;
use sluice_nginx::{Engine, ModSecurity, OpenSsl, Streams};
use sluice_tasks::Tasks;
use sluice_xds::Certificate;
use tokio::sync::watch;

pub use configurations::{Configurations, Published, Staged};
pub use reload_event::{ReloadEvent, ReloadReason};
pub use request_log::RequestLog;
pub use running::{Load, Running};
pub use span_log::SpanLog;
pub use workers::serving;

use crate::child_log::ChildLog;
use crate::private_file;
use crate::supervisor::{SharedPid, supervise};
use access_log::AccessLog;
use adoption::{FormerFiles, Found};
use certificates::Certificates;
use configurations::Configuration;
use running::Loads;
use supervised::Supervised;
use table_files::TableFiles;

/// How to run nginx.
#[derive(Debug)]
pub struct Settings {
    /// The executable.
    pub program: PathBuf,
    /// How nginx.conf is rendered; its folder is the one of [`directory`].
    pub render: sluice_nginx::Settings,
    /// The certificate of hosts that have none of their own.
    pub default_certificate: Certificate,
    /// Time for open requests to complete before nginx is terminated.
    pub drain_timeout: Duration,
    /// Log requests for metrics ([`RequestLog`]).
    pub request_log: bool,
    /// Copy the access log to our standard output and standard error.
    pub access_log: bool,
}

/// An nginx to supervise.
#[derive(Debug)]
pub struct Nginx {
    program: PathBuf,
    /// nginx's own: configuration, sockets, temporary files.
    directory: PathBuf,
    /// Address of http, to see whether it listens.
    http: SocketAddr,
    drain_timeout: Duration,
    pid: SharedPid,
    /// Socket of its counters, if it has them.
    status: Option<PathBuf>,
    version: String,
    loads: Loads,
    configurations: watch::Receiver<Option<Arc<Configuration>>>,
    certificates: Certificates,
    tables: Arc<TableFiles>,
    access_log: Option<AccessLog>,
    log: ChildLog,
    found: Found,
    tasks: Tasks,
}

/// An nginx that is ready to be supervised, and what others need of it.
#[derive(Debug)]
pub struct Prepared {
    /// To be supervised.
    pub nginx: Nginx,
    /// For the publisher.
    pub configurations: Configurations,
    /// For metrics, if the settings ask for it.
    pub request_log: Option<RequestLog>,
    /// For traces.
    pub span_log: SpanLog,
}

/// Prepares nginx's files; starts nothing yet. Finds the nginx of an earlier controller.
///
/// # Errors
///
/// A file or directory cannot be written.
pub async fn prepare(settings: Settings, tasks: &Tasks) -> anyhow::Result<Prepared> {
    let directory = settings.render.folder.clone();
    let found = Found::in_directory(&directory).await;
    let former = found.former_files();
    let request_log = settings
        .request_log
        .then(|| RequestLog::open(directory.join("requests.log")))
        .transpose()?;
    let span_log = SpanLog::open(&directory)?;
    let access_log = settings
        .access_log
        .then(|| AccessLog::open(&directory))
        .transpose()?;
    access_log.iter().try_for_each(|log| log.follow(tasks))?;
    let features = features(&settings.program);
    let render = sluice_nginx::Settings {
        requests: request_log.as_ref().map(|log| log.path().to_owned()),
        access_log: access_log.as_ref().map(AccessLog::files),
        ..detect_features(&features, &settings.program, settings.render)
    };
    if let Engine::Kong { cache, .. } = &render.engine {
        enable_wasmtime_cache(cache)?;
    }
    let certificate = &settings.default_certificate;
    let certificates = Certificates::new(render.certificates(), certificate, former)?;
    let log = ChildLog::open(&directory.join("nginx.log"), Box::new(log_lines::log_line))?;
    tasks.spawn("nginx log", log.clone().follow());
    let http = reachable(render.http);
    let (program, status) = (settings.program, render.status.clone());
    let configurations =
        Configurations::new(render, certificates.clone(), former, program.clone())?;
    let nginx = Nginx {
        program,
        directory,
        http,
        drain_timeout: settings.drain_timeout,
        pid: SharedPid::default(),
        status,
        version: running::version(&features),
        loads: Loads::default(),
        configurations: configurations.subscribe(),
        certificates,
        tables: configurations.tables(),
        access_log,
        log,
        found,
        tasks: tasks.clone(),
    };
    Ok(Prepared {
        nginx,
        configurations,
        request_log,
        span_log,
    })
}

impl Nginx {
    /// The nginx that runs at the moment, for readers.
    #[must_use]
    pub fn running(&self) -> Running {
        Running {
            pid: self.pid.clone(),
            status: self.status.clone(),
            version: self.version.clone(),
            loads: self.loads.clone(),
            configurations: self.configurations.clone(),
        }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> SharedPid {
        self.pid.clone()
    }

    /// Address of http, for a client on this machine.
    #[must_use]
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// The nginx of an earlier controller, which has its ports.
    #[must_use]
    pub fn found(&self) -> Option<Pid> {
        self.found.pid()
    }

    /// Keeps an nginx running until `stop` becomes true, then drains it. Calls `on_reload` with what became of each
    /// configuration, and `on_ready` each time that one becomes ready.
    ///
    /// # Errors
    ///
    /// So many in a row have not become ready.
    pub async fn supervise(
        self,
        stop: watch::Receiver<bool>,
        max_failed_starts: Option<NonZeroU32>,
        on_reload: impl Fn(ReloadEvent) + Send + Sync + 'static,
        on_ready: impl Fn() + Send + Sync + 'static,
    ) -> anyhow::Result<()> {
        let loads = self.loads.clone();
        let on_reload = move |event: ReloadEvent| {
            loads.note(&event);
            on_reload(event);
        };
        let supervised = Supervised::new(self, Box::new(on_reload));
        supervise(supervised, stop, max_failed_starts, on_ready).await
    }
}

/// Creates nginx's own directory inside the run directory.
///
/// # Errors
///
/// It cannot be created.
pub fn directory(run_dir: &Path) -> anyhow::Result<PathBuf> {
    let directory = std::path::absolute(run_dir.join("nginx")).context("--run-dir")?;
    let describe = || directory.display().to_string();
    // nginx lets everybody connect to its sockets, so the directory must not.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .with_context(describe)?;
    std::fs::set_permissions(&directory, Permissions::from_mode(0o700)).with_context(describe)?;
    Ok(directory)
}

/// Settings with the features of this nginx, as `nginx -V` lists them.
fn detect_features(
    features: &str,
    program: &Path,
    settings: sluice_nginx::Settings,
) -> sluice_nginx::Settings {
    sluice_nginx::Settings {
        openssl: OpenSsl::of_nginx(features),
        streams: Streams::of_nginx(features, program, Path::is_file),
        modsecurity: ModSecurity::of_nginx(features, program, Path::is_file)
            .filter(|_| !settings.engine.is_kongs())
            .map(core_rules::with_ids),
        status: sluice_nginx::status_socket(features, &settings.folder),
        ..settings
    }
}

/// Output of `nginx -V`.
fn features(program: &Path) -> String {
    let output = std::process::Command::new(program)
        .arg("-V")
        .stdin(Stdio::null())
        .output();
    output
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
        .unwrap_or_default()
}

/// Has wasmtime in Kong's host cache compiled code: otherwise each worker compiles for a fifth of a second.
fn enable_wasmtime_cache(file: &Path) -> anyhow::Result<()> {
    let directory = file.with_extension("cache");
    // A JSON string is also a TOML string.
    let directory = serde_json::to_string(&directory).context("the cache directory")?;
    let text = format!("[cache]\nenabled = true\ndirectory = {directory}\n");
    private_file::write(file, text).with_context(|| file.display().to_string())
}

/// An unspecified address is reachable by loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
