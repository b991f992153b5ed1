//! Envoy as a data plane.
//!
//! ```text
//!   found in the run directory, same program and settings  --> adopted
//!   found, another program or other settings               --> serves until its replacement does, then drains
//!   none                                                   --> started
//! ```

pub mod admin;
mod controller_link;
mod drain;
mod log_lines;
mod module;
mod version;

use std::ffi::OsString;
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::future::OptionFuture;
use hyper::Method;
use rustix::process::Pid;
use sluice_tasks::Tasks;
use sluice_xds::{BootstrapSettings, ControllerAddress, FilterForm};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::child_log::{ChildLog, LogLine};
use crate::content_hash::{content_hash, file_hash};
use crate::process::Process;
use crate::supervisor::{
    ADOPTION_TIMEOUT, POLL_INTERVAL, Program, SharedPid, supervise, terminate,
};
use crate::{memory, open_files, private_file};
use controller_link::ControllerLink;
use drain::{CloseListeners, drain};
use log_lines::Rejections;
pub use module::try_module;
pub use version::version;

/// Interval between checks of the listeners of an Envoy that is ready without them.
const LISTENERS_INTERVAL: Duration = Duration::from_millis(500);

/// How to run Envoy.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The executable.
    pub program: PathBuf,
    /// Worker threads; `None`: one per core.
    pub concurrency: Option<u32>,
    /// `node.id` of the bootstrap.
    pub node_id: String,
    /// `node.locality.zone` of the bootstrap.
    pub zone: Option<String>,
    /// The xDS server that Envoy connects to.
    pub controller: ControllerAddress,
    /// Addresses on which it has to serve to be ready; none: any.
    pub listens: Vec<SocketAddr>,
    /// Time for open requests to complete before Envoy is terminated.
    pub drain_timeout: Duration,
    /// The filter as a module: `libsluice_envoy.so`, which Envoy finds by its folder; `None` if the filter is wasm.
    pub module: Option<PathBuf>,
}

/// An Envoy to supervise.
#[derive(Debug)]
pub struct Envoy {
    program: PathBuf,
    arguments: Vec<OsString>,
    bootstrap: String,
    /// The module that it will load, and its hash.
    module: Option<(PathBuf, String)>,
    files: Files,
    listens: Vec<SocketAddr>,
    drain_timeout: Duration,
    log: ChildLog,
    pid: SharedPid,
    /// The Envoy of an earlier controller.
    found: Option<Process>,
    /// An Envoy that serves only until its replacement does.
    outgoing: Option<Process>,
}

/// Files in the run directory.
#[derive(Clone, Debug)]
struct Files {
    bootstrap: PathBuf,
    record: PathBuf,
    admin_socket: PathBuf,
    outgoing_record: PathBuf,
    outgoing_admin_socket: PathBuf,
}

/// The Envoy that runs at the moment, for readers.
#[derive(Clone, Debug)]
pub struct Running {
    /// Unix socket of its admin interface.
    pub admin_socket: PathBuf,
    /// Its process id.
    pub pid: SharedPid,
}

impl Envoy {
    /// Writes nothing and starts nothing yet; finds the Envoy of an earlier controller.
    ///
    /// # Errors
    ///
    /// The log file in the run directory cannot be opened, or the module not be read.
    pub fn new(settings: Settings, run_dir: &Path, tasks: &Tasks) -> anyhow::Result<Self> {
        let files = Files::in_directory(run_dir);
        let log_line: LogLine = match &settings.controller {
            ControllerAddress::Unix(_) => Box::new(log_lines::of_our_own),
            ControllerAddress::Tcp { host, port, .. } => {
                let link = ControllerLink::new(format!("{host}:{port}"));
                tasks.spawn(
                    "controller link",
                    link.clone().follow(files.admin_socket.clone()),
                );
                let rejections = Rejections::default();
                Box::new(move |line| {
                    log_lines::of_a_remote_controller(line, &link, &rejections);
                })
            }
        };
        let bootstrap = BootstrapSettings {
            node_id: settings.node_id,
            zone: settings.zone,
            admin_socket: files.admin_socket.clone(),
            controller: settings.controller,
            filter: match &settings.module {
                Some(_) => FilterForm::Module,
                None => FilterForm::Wasm,
            },
            max_connections: Some(open_files::max_connections(open_files::raise_limit())),
            memory: memory::limit(),
        };
        let bootstrap = serde_json::to_string_pretty(&sluice_xds::bootstrap(&bootstrap))
            .context("bootstrap")?;
        let hash = settings.module.as_deref().map(file_hash).transpose()?;
        let log = ChildLog::open(&run_dir.join("envoy.log"), log_line)?;
        tasks.spawn("envoy log", log.clone().follow());
        Ok(Envoy {
            program: settings.program,
            arguments: arguments(&files.bootstrap, settings.concurrency),
            bootstrap,
            module: settings.module.zip(hash),
            listens: settings.listens,
            drain_timeout: settings.drain_timeout,
            log,
            pid: SharedPid::default(),
            found: Process::find(&files.record),
            outgoing: Process::find(&files.outgoing_record),
            files,
        })
    }

    /// The Envoy that runs, for readers.
    #[must_use]
    pub fn running(&self) -> Running {
        Running {
            admin_socket: self.files.admin_socket.clone(),
            pid: self.pid.clone(),
        }
    }

    /// Unix socket of the admin interface.
    #[must_use]
    pub fn admin_socket(&self) -> &Path {
        &self.files.admin_socket
    }

    /// Envoys of earlier controllers, which have their ports.
    pub fn found(&self) -> impl Iterator<Item = Pid> {
        self.found.iter().chain(&self.outgoing).map(Process::pid)
    }

    /// Keeps an Envoy running until `stop` becomes true, then drains it. Calls `on_ready` each time that one becomes ready.
    ///
    /// # Errors
    ///
    /// So many in a row have not become ready.
    pub async fn supervise(
        self,
        stop: watch::Receiver<bool>,
        max_failed_starts: Option<NonZeroU32>,
        on_ready: impl Fn() + Send + Sync + 'static,
    ) -> anyhow::Result<()> {
        supervise(self, stop, max_failed_starts, on_ready).await
    }

    /// Drains the Envoy that was replaced.
    async fn retire_outgoing(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            let socket = &self.files.outgoing_admin_socket;
            // None when the controller itself stops.
            let replacement = Pid::from_raw(self.pid.get().cast_signed());
            let close = replacement.map_or(CloseListeners::AfterDrain, |replacement| {
                CloseListeners::Immediately { replacement }
            });
            drain(outgoing, socket, close, self.drain_timeout).await;
            self.outgoing = None;
        }
    }

    /// Fails if a found Envoy differs from one that we would start, or does not answer.
    async fn check(&self, found: &Process) -> anyhow::Result<()> {
        ensure!(
            found.runs(&self.program),
            "it is not {}",
            self.program.display()
        );
        ensure!(
            found.serves() == Some(&self.settings_hash()),
            "it was started with other settings"
        );
        let socket = &self.files.admin_socket;
        let answers = async {
            let pid = found.pid().as_raw_nonzero().get();
            loop {
                ensure!(found.is_running(), "it has just exited");
                if admin::socket_owner(socket).await == Some(pid)
                    && let Ok(info) = admin::call(socket, Method::GET, "/server_info").await
                {
                    // Its listeners are closed, or will be soon.
                    ensure!(!info.contains("\"DRAINING\""), "it is draining");
                    return Ok(());
                }
                sleep(POLL_INTERVAL).await;
            }
        };
        timeout(ADOPTION_TIMEOUT, answers)
            .await
            .context("its admin socket does not answer")?
    }

    /// A hash of everything that makes one Envoy differ from another.
    fn settings_hash(&self) -> String {
        let Envoy {
            arguments,
            bootstrap,
            module,
            ..
        } = self;
        let hash = content_hash(&format!("{arguments:?}\n{module:?}\n{bootstrap}"));
        format!("{hash:032x}")
    }

    /// Keeps a found Envoy until its replacement serves.
    async fn set_outgoing(&mut self, mut found: Process) {
        if let Some(mut older) = self.outgoing.take() {
            terminate(Self::NAME, &mut older).await;
        }
        let files = &self.files;
        std::fs::rename(&files.admin_socket, &files.outgoing_admin_socket).ok();
        if let Err(error) = found.move_record(&files.outgoing_record) {
            warn!("{error:#}");
        }
        self.outgoing = Some(found);
    }
}

impl Program for Envoy {
    const NAME: &'static str = "envoy";

    fn pid(&self) -> &SharedPid {
        &self.pid
    }

    fn log(&self) -> &ChildLog {
        &self.log
    }

    /// An adopted Envoy asks for the resources that it lacks.
    async fn adopt(&mut self) -> Option<Process> {
        let found = self.found.take()?;
        match self.check(&found).await {
            Ok(()) => {
                info!("envoy adopted, pid {}", found.pid());
                Some(found)
            }
            Err(error) => {
                warn!(
                    "envoy, pid {}, serves until its replacement does: {error:#}",
                    found.pid()
                );
                self.set_outgoing(found).await;
                None
            }
        }
    }

    fn start(&self) -> anyhow::Result<Process> {
        let files = &self.files;
        private_file::write(&files.bootstrap, &self.bootstrap)
            .with_context(|| files.bootstrap.display().to_string())?;
        // The socket of an Envoy that died would keep the next one from listening.
        std::fs::remove_file(&files.admin_socket).ok();
        let mut command = Command::new(&self.program);
        // Ctrl-C signals the foreground process group, and Envoy has to be drained before it exits.
        command.args(&self.arguments).process_group(0);
        let folder = self.module.as_ref().and_then(|(path, _)| path.parent());
        command.envs(folder.map(|folder| (module::SEARCH_PATH, folder)));
        // Its standard output is the access log, and ours carries nothing else.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::inherit())
            .stderr(self.log.stderr()?);
        let process = Process::start(command, &files.record, Some(self.settings_hash()))?;
        info!("envoy started, pid {}", process.pid());
        Ok(process)
    }

    fn ready(&self) -> impl Future<Output = ()> + Send + 'static {
        let (socket, listens) = (self.files.admin_socket.clone(), self.listens.clone());
        async move {
            while admin::call(&socket, Method::GET, "/ready").await.is_err() {
                sleep(POLL_INTERVAL).await;
            }
            // It has refused some, or is an adopted one that is still on the addresses that it had.
            let serves =
                |addresses: Vec<SocketAddr>| listens.iter().all(|it| addresses.contains(it));
            while !admin::serving(&socket).await.is_ok_and(serves) {
                sleep(LISTENERS_INTERVAL).await;
            }
        }
    }

    /// Envoy gets its configuration by xDS. Only the Envoy that it replaces is drained here.
    async fn next_change(&mut self, is_ready: bool) {
        if is_ready {
            self.retire_outgoing().await;
        }
        pending::<()>().await;
    }

    async fn apply_change(&mut self, _process: &mut Process) {}

    /// Drains both at once, if there are two.
    async fn drain(&mut self, mut process: Process) {
        let (files, drain_timeout) = (&self.files, self.drain_timeout);
        let after = CloseListeners::AfterDrain;
        let outgoing = self
            .outgoing
            .as_mut()
            .map(|outgoing| drain(outgoing, &files.outgoing_admin_socket, after, drain_timeout));
        let current = drain(&mut process, &files.admin_socket, after, drain_timeout);
        tokio::join!(current, OptionFuture::from(outgoing));
        self.outgoing = None;
    }

    async fn finish(&mut self) {
        self.retire_outgoing().await;
    }
}

impl Files {
    fn in_directory(run_dir: &Path) -> Self {
        Files {
            bootstrap: run_dir.join("bootstrap.json"),
            record: run_dir.join("envoy.json"),
            admin_socket: run_dir.join("envoy-admin.sock"),
            outgoing_record: run_dir.join("envoy-former.json"),
            outgoing_admin_socket: run_dir.join("envoy-former-admin.sock"),
        }
    }
}

fn arguments(bootstrap: &Path, concurrency: Option<u32>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--config-path".into(), bootstrap.into()];
    arguments.extend(["--disable-hot-restart", "--log-format", "%l\t%n\t%v"].map(OsString::from));
    // Resources are built from Envoy's own types. Searching them for unknown fields takes a fifth of the time that a change of
    // one route among ten thousand hosts costs Envoy.
    arguments.push("--ignore-unknown-dynamic-fields".into());
    // Lines of the access log wait for 10 s otherwise.
    arguments.extend(["--file-flush-interval-msec", "1000"].map(OsString::from));
    if let Some(workers) = concurrency {
        arguments.extend(["--concurrency".into(), workers.to_string().into()]);
    }
    arguments
}
