//! Envoy as a process of ours: started, or taken over from a controller that was killed; watched, started again, drained
//! and stopped.
//!
//! ```text
//!   found in the run folder, and as we would start it --> adopted
//!   found, but not so: another program or bootstrap   --> serves until a new one does, then is drained
//!   none                                              --> started
//! ```

mod drain;
mod lines;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::future::OptionFuture;
use hyper::Method;
use rustix::process::Pid;
use sluice_tasks::Tasks;
use sluice_xds::{BootstrapSettings, ControllerAddress};
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::args::{Child as Flags, Shutdown};
use crate::child_log::ChildLog;
use crate::content::content;
use crate::process::Process;
use crate::restarts::Restarts;
use crate::{binary, envoy_admin, private};

use drain::{Ports, drain, end};

/// How often the admin interface is asked while something is awaited.
const ASK: Duration = Duration::from_millis(20);
/// An Envoy whose controller was killed right after it had started it opens its admin socket within this time.
const YOUNG: Duration = Duration::from_secs(5);

/// How to run Envoy.
#[derive(Debug)]
pub(crate) struct Envoy {
    binary: PathBuf,
    arguments: Vec<OsString>,
    bootstrap: String,
    files: Files,
    drain_timeout: Duration,
    log: ChildLog,
    /// Where others read the process id; 0 while none runs.
    pid: Arc<AtomicU32>,
    /// What a controller before us has left.
    found: Option<Process>,
    /// One that serves only until another one does.
    former: Option<Process>,
}

/// What is in the run folder.
#[derive(Clone, Debug)]
struct Files {
    bootstrap: PathBuf,
    /// Where the Envoy that serves is written down, and its admin socket.
    record: PathBuf,
    admin_socket: PathBuf,
    /// The same for the former one.
    former_record: PathBuf,
    former_admin_socket: PathBuf,
}

/// The Envoy that runs right now.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) admin_socket: PathBuf,
    /// 0 while none runs.
    pub(crate) pid: Arc<AtomicU32>,
}

impl Envoy {
    /// Finds the program, and an Envoy that runs already.
    pub(crate) fn prepare(
        flags: &Flags,
        shutdown: &Shutdown,
        run_dir: &Path,
        node_id: &str,
        controller: ControllerAddress,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let files = Files::of(run_dir);
        let settings = BootstrapSettings {
            node_id: node_id.to_owned(),
            zone: flags.zone(),
            admin_socket: files.admin_socket.clone(),
            controller,
            max_connections: Some(crate::files::connections(crate::files::allow_all())),
        };
        let log = ChildLog::open(&run_dir.join("envoy.log"), lines::pass_on)?;
        tasks.spawn("envoy log", log.clone().follow());
        Ok(Envoy {
            binary: binary::find(
                flags.envoy_binary.as_deref(),
                "envoy",
                "--envoy-binary",
                "ENVOY_BINARY",
            )?,
            arguments: arguments(&files.bootstrap, flags.envoy_concurrency),
            bootstrap: serde_json::to_string_pretty(&sluice_xds::bootstrap(&settings))
                .context("bootstrap")?,
            drain_timeout: shutdown.drain_timeout,
            log,
            pid: Arc::default(),
            found: Process::find(&files.record),
            former: Process::find(&files.former_record),
            files,
        })
    }

    /// What others may look at while it runs.
    pub(crate) fn running(&self) -> Running {
        Running {
            admin_socket: self.files.admin_socket.clone(),
            pid: Arc::clone(&self.pid),
        }
    }

    /// Where its admin interface is.
    pub(crate) fn admin_socket(&self) -> &Path {
        &self.files.admin_socket
    }

    /// Those that run already, and have their ports.
    pub(crate) fn found(&self) -> impl Iterator<Item = Pid> {
        self.found.iter().chain(&self.former).map(Process::pid)
    }

    /// Keeps an Envoy running until `stop` becomes true, then drains and ends it. `live` is called whenever one has
    /// become ready to serve.
    pub(crate) async fn supervise(
        mut self,
        mut stop: watch::Receiver<bool>,
        live: impl Fn() + Send + Sync,
    ) {
        let mut restarts = Restarts::of("envoy");
        let mut adopted = self.adopt().await;
        while !*stop.borrow() {
            restarts.begin();
            match adopted.take().map_or_else(|| self.start(), Ok) {
                Ok(process) => {
                    let Some(how) = self.outlived(process, &mut stop, &live).await else {
                        break;
                    };
                    restarts.ended(how, &mut stop).await;
                }
                Err(error) => restarts.failed(&error, &mut stop).await,
            }
        }
        self.retire_former().await;
    }

    /// How an Envoy ended by itself; `None` when it was stopped because we were told to.
    async fn outlived(
        &mut self,
        mut process: Process,
        stop: &mut watch::Receiver<bool>,
        live: impl Fn(),
    ) -> Option<String> {
        let mut is_live = false;
        let ended = loop {
            tokio::select! {
                how = process.ended() => break Some(how),
                _ = stop.wait_for(|stop| *stop) => break None,
                () = self.accompany(is_live) => is_live = true,
            }
            live();
            if let Err(error) = process.renew() {
                warn!("the next controller will not know this envoy: {error:#}");
            }
        };
        self.pid.store(0, Ordering::Relaxed);
        if ended.is_none() {
            self.stop(&mut process).await;
        }
        self.log.pass_on();
        ended
    }

    /// Ends when it has its configuration and listens. From then on the former one can go.
    async fn accompany(&mut self, was_live: bool) {
        if was_live {
            self.retire_former().await;
            return std::future::pending().await;
        }
        while !is_live(&self.files.admin_socket).await {
            sleep(ASK).await;
        }
    }

    /// The former one leaves its ports to the one that serves now, and ends with its last request.
    async fn retire_former(&mut self) {
        if let Some(former) = &mut self.former {
            drain(
                former,
                &self.files.former_admin_socket,
                Ports::AtOnce,
                self.drain_timeout,
            )
            .await;
            self.former = None;
        }
    }

    /// Both at once, if there are two.
    async fn stop(&mut self, process: &mut Process) {
        let Files {
            admin_socket,
            former_admin_socket,
            ..
        } = &self.files;
        let former = self
            .former
            .as_mut()
            .map(|former| drain(former, former_admin_socket, Ports::Last, self.drain_timeout));
        let current = drain(process, admin_socket, Ports::Last, self.drain_timeout);
        tokio::join!(current, OptionFuture::from(former));
        self.former = None;
    }

    fn start(&self) -> anyhow::Result<Process> {
        let Files {
            bootstrap,
            record,
            admin_socket,
            ..
        } = &self.files;
        private::write(bootstrap, &self.bootstrap)
            .with_context(|| bootstrap.display().to_string())?;
        // What an Envoy that died has left behind would keep the next one from listening.
        std::fs::remove_file(admin_socket).ok();
        let mut command = Command::new(&self.binary);
        // A Ctrl-C is for us alone: Envoy is drained before it ends.
        command.args(&self.arguments).process_group(0);
        // What it writes to its standard output are requests, and ours is for them alone.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::inherit())
            .stderr(self.log.stderr()?);
        let process = Process::start(command, record, Some(self.settings()))?;
        self.note(&process);
        info!("envoy started, pid {}", process.pid());
        Ok(process)
    }

    fn note(&self, process: &Process) {
        self.pid.store(
            process.pid().as_raw_nonzero().get().cast_unsigned(),
            Ordering::Relaxed,
        );
    }

    /// The Envoy that was found, if it is as we would have started it. It asks us for what it does not have.
    async fn adopt(&mut self) -> Option<Process> {
        let found = self.found.take()?;
        match self.check(&found).await {
            Ok(()) => {
                self.note(&found);
                info!("envoy adopted, pid {}", found.pid());
                Some(found)
            }
            Err(error) => {
                warn!(
                    "envoy, pid {}, serves until another one does: {error:#}",
                    found.pid()
                );
                self.step_aside(found).await;
                None
            }
        }
    }

    /// Whether it is as we would have started it, and answers.
    async fn check(&self, found: &Process) -> anyhow::Result<()> {
        ensure!(
            found.is_of(&self.binary),
            "it is not {}",
            self.binary.display()
        );
        ensure!(
            found.serves() == Some(&self.settings()),
            "it was started with other settings"
        );
        let socket = &self.files.admin_socket;
        let answers = async {
            let pid = found.pid().as_raw_nonzero().get();
            loop {
                ensure!(found.is_running(), "it has just ended");
                if envoy_admin::owner(socket).await == Some(pid)
                    && let Ok(answer) = envoy_admin::call(socket, Method::GET, "/server_info").await
                {
                    // Then it has no listeners any more, or soon.
                    ensure!(!answer.contains("\"DRAINING\""), "it was told to end");
                    return Ok(());
                }
                sleep(ASK).await;
            }
        };
        timeout(YOUNG, answers)
            .await
            .context("its admin socket does not answer")?
    }

    /// Whatever makes one Envoy another, in short.
    fn settings(&self) -> String {
        format!(
            "{:032x}",
            content(&format!("{:?}\n{}", self.arguments, self.bootstrap))
        )
    }

    async fn step_aside(&mut self, mut found: Process) {
        if let Some(mut even_older) = self.former.take() {
            end(&mut even_older).await;
        }
        std::fs::rename(&self.files.admin_socket, &self.files.former_admin_socket).ok();
        if let Err(error) = found.move_to(&self.files.former_record) {
            warn!("{error:#}");
        }
        self.former = Some(found);
    }
}

impl Files {
    fn of(run_dir: &Path) -> Self {
        Files {
            bootstrap: run_dir.join("bootstrap.json"),
            record: run_dir.join("envoy.json"),
            admin_socket: run_dir.join("envoy-admin.sock"),
            former_record: run_dir.join("envoy-former.json"),
            former_admin_socket: run_dir.join("envoy-former-admin.sock"),
        }
    }
}

fn arguments(bootstrap: &Path, concurrency: Option<u32>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--config-path".into(), bootstrap.into()];
    arguments.extend(["--disable-hot-restart", "--log-format", "%l\t%n\t%v"].map(OsString::from));
    // What we send was made from Envoy's own types. Looking through all of it for fields that Envoy does not know is a
    // fifth of what a change of one route among ten thousand hosts costs it.
    arguments.push("--ignore-unknown-dynamic-fields".into());
    if let Some(workers) = concurrency {
        arguments.extend(["--concurrency".into(), workers.to_string().into()]);
    }
    arguments
}

async fn is_live(admin_socket: &Path) -> bool {
    let ready = envoy_admin::call(admin_socket, Method::GET, "/ready").await;
    ready.is_ok_and(|body| body.starts_with("LIVE"))
}
