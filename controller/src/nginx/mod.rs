//! nginx as a child process: started, watched, told to reload, drained and stopped.

mod access_log;
mod certificates;
mod configurations;
mod outcome;
mod pods;
mod reload;
mod requests;
mod tail;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use sluice_nginx::{OpenSsl, Settings, Streams};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tracing::{debug, error, info, warn};

pub(crate) use access_log::AccessLog;
pub(crate) use certificates::Certificates;
pub(crate) use configurations::{Configuration, Configurations, Owners};
pub(crate) use outcome::Outcome;
pub(crate) use requests::RequestLog;

use crate::admin::Probe;
use crate::restarts::Restarts;
use crate::tasks::Tasks;

/// Changes that come so close together are one reload: each makes new worker processes.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How often it is tried whether it serves.
const ASK: Duration = Duration::from_millis(20);
/// When all workers have a configuration that nginx was told of, and handshakes with those of the last one are over.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// Time to end after it was told to at once, before it is killed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// These settings, with what the program says about itself.
pub(crate) fn know(binary: &Path, settings: Settings) -> Settings {
    let output = std::process::Command::new(binary).arg("-V").stdin(Stdio::null()).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stderr).into_owned()).unwrap_or_default();
    let streams = Streams::of_nginx(&said, binary, Path::is_file);
    Settings { openssl: OpenSsl::of_nginx(&said), streams, ..settings }
}

/// How to run nginx.
#[derive(Debug)]
pub(crate) struct Nginx {
    pub(crate) binary: PathBuf,
    /// Its own: configuration, sockets, temporary files.
    pub(crate) folder: PathBuf,
    /// Where it serves http.
    pub(crate) http: SocketAddr,
    /// How long open requests may take at the end.
    pub(crate) drain_timeout: Duration,
    /// Where others read the process id; 0 while none runs.
    pub(crate) pid: Arc<AtomicU32>,
    /// What it serves.
    pub(crate) configurations: watch::Receiver<Option<Arc<Configuration>>>,
    /// What it reads beside that.
    pub(crate) certificates: Certificates,
    /// What it tells of requests, if somebody counts them.
    pub(crate) requests: Option<RequestLog>,
    /// What it writes down for people, if they want that.
    pub(crate) access_log: Option<AccessLog>,
    pub(crate) tasks: Tasks,
}

impl Nginx {
    /// How it is asked whether it serves.
    pub(crate) fn probe(&self) -> Probe {
        Probe::Nginx { pid: Arc::clone(&self.pid), http: reachable(self.http) }
    }

    /// Keeps an nginx running until `stop` becomes true, then drains and ends it. `live` is called whenever one has
    /// become ready to serve.
    pub(crate) async fn supervise(
        mut self,
        mut stop: watch::Receiver<bool>,
        outcome: Outcome,
        live: impl Fn() + Send + Sync,
    ) {
        let mut restarts = Restarts::of("nginx");
        // Without a good configuration there is nothing to start.
        while !self.next_configuration(&mut stop, &outcome).await {
            if *stop.borrow() {
                return;
            }
        }
        while !*stop.borrow() {
            restarts.begin();
            match self.start() {
                Ok(child) => {
                    let outlived = self.outlived(child, &mut stop, &outcome, &live);
                    let Some(status) = outlived.await else { return };
                    restarts.ended(status, &mut stop).await;
                }
                Err(error) => restarts.failed(&error, &mut stop).await,
            }
        }
    }

    /// Waits for a configuration and adopts it; `false` when nginx refuses it, or when we are to stop.
    async fn next_configuration(&mut self, stop: &mut watch::Receiver<bool>, outcome: &Outcome) -> bool {
        let told = told(stop);
        tokio::select! {
            // An error: the publisher is gone, and we are told to stop soon.
            Ok(()) = self.configurations.changed() => {}
            () = told => return false,
        }
        let adopted = self.adopt_latest(outcome).await;
        if let Some(adopted) = &adopted {
            outcome.taken(adopted);
        }
        adopted.is_some()
    }

    /// `None` when nginx refuses it.
    async fn adopt_latest(&mut self, outcome: &Outcome) -> Option<Arc<Configuration>> {
        tokio::time::sleep(DEBOUNCE).await;
        let latest = self.configurations.borrow_and_update().clone()?;
        let adopted = configurations::adopt(&self.binary, &self.folder, &latest.text).await;
        if let Err(error) = adopted {
            error!("{error:#}");
            outcome.refused();
            return None;
        }
        let forget = forget(self.certificates.clone(), Arc::clone(&latest));
        self.tasks.spawn_finite("nginx certificates", forget);
        Some(latest)
    }

    /// How a child ended by itself; `None` when it was stopped because we were told to.
    async fn outlived(
        &mut self,
        mut child: Child,
        stop: &mut watch::Receiver<bool>,
        outcome: &Outcome,
        live: impl Fn(),
    ) -> Option<String> {
        let mut announce = pin!(announce(self.http, live));
        let group = pid(&child);
        let status =
            |status: io::Result<ExitStatus>| status.map_or_else(|e| e.to_string(), |s| s.to_string());
        let ended = loop {
            let to_stop = told(stop);
            tokio::select! {
                ended = child.wait() => break Some(status(ended)),
                () = to_stop => break None,
                Ok(()) = self.configurations.changed() => {}
                never = &mut announce => match never {},
            }
            let Some(adopted) = self.adopt_latest(outcome).await else { continue };
            let to_stop = told(stop);
            tokio::select! {
                () = reload(group, &adopted, outcome) => {}
                ended = child.wait() => break Some(status(ended)),
                () = to_stop => break None,
            }
        };
        self.pid.store(0, Ordering::Relaxed);
        match ended {
            None => self.stop(child).await,
            Some(_) => end_orphans(group),
        }
        ended
    }

    fn start(&self) -> anyhow::Result<Child> {
        // What an nginx that died has left behind would keep the next one from listening.
        std::fs::remove_file(sluice_nginx::nobody(&self.folder)).ok();
        let mut command = Command::new(&self.binary);
        command
            .args(["-e", "stderr", "-p"])
            .arg(&self.folder)
            .arg("-c")
            .arg(configurations::file(&self.folder));
        // A Ctrl-C is for us alone: nginx is drained before it ends.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.binary.display()))?;
        let pid = child.id().unwrap_or_default();
        self.pid.store(pid, Ordering::Relaxed);
        info!("nginx started, pid {pid}");
        child.stderr.take().map(|stderr| self.tasks.spawn_finite("nginx log", pass_on(stderr)));
        Ok(child)
    }

    /// New connections go elsewhere, open requests get their time, then nginx ends.
    async fn stop(&self, mut child: Child) {
        info!("draining nginx");
        tell(pid(&child), Signal::QUIT);
        if tokio::time::timeout(self.drain_timeout, child.wait()).await.is_err() {
            warn!("requests are still open after {:?}; ending nginx all the same", self.drain_timeout);
            tell(pid(&child), Signal::TERM);
            if tokio::time::timeout(LAST_WORDS, child.wait()).await.is_err() {
                warn!("nginx did not end in {LAST_WORDS:?}; killing it");
                child.kill().await.ok();
            }
        }
        // The last lines are written when workers end.
        if let Some(log) = self.access_log.clone() {
            tokio::task::spawn_blocking(move || log.pass_on()).await.ok();
        }
        info!("nginx stopped");
    }
}

/// The new workers serve before the old ones stop.
async fn reload(master: Option<Pid>, adopted: &Configuration, outcome: &Outcome) {
    info!("reloading nginx");
    let before = reload::workers(master);
    tell(master, Signal::HUP);
    if reload::is_taken(master, &before).await {
        outcome.taken(adopted);
    } else {
        error!("nginx did not take a configuration that it found good before, and serves the last one");
        outcome.refused();
    }
}

/// Takes away what only former configurations needed, when nobody has them any more.
async fn forget(certificates: Certificates, adopted: Arc<Configuration>) {
    tokio::time::sleep(FORGOTTEN).await;
    certificates.forget_all_but(&adopted.files);
}

/// Ends when we are to stop.
async fn told(stop: &mut watch::Receiver<bool>) {
    stop.wait_for(|stop| *stop).await.ok();
}

fn tell(nginx: Option<Pid>, signal: Signal) {
    if let Some(Err(error)) = nginx.map(|pid| kill_process(pid, signal)) {
        warn!("cannot signal nginx: {error}");
    }
}

fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()))
}

/// Workers do not notice that their master has died: they would serve what they know for ever, and keep the ports.
fn end_orphans(group: Option<Pid>) {
    // Usually there is nobody left.
    group.map(|group| kill_process_group(group, Signal::KILL));
}

/// Says once when nginx listens.
async fn announce(http: SocketAddr, live: impl Fn()) -> Infallible {
    while TcpStream::connect(reachable(http)).await.is_err() {
        tokio::time::sleep(ASK).await;
    }
    live();
    std::future::pending().await
}

/// Everywhere is also here.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// nginx's lines, in our log, at their level: `2026/01/31 12:00:00 [error] 1#1: text`.
async fn pass_on(output: impl AsyncRead + Unpin) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let level = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        match level {
            Some(("emerg" | "alert" | "crit" | "error", text)) => {
                error!(target: "nginx", "{}", text.trim_start());
            }
            Some(("warn", text)) => warn!(target: "nginx", "{}", text.trim_start()),
            Some(("notice" | "info" | "debug", text)) => debug!(target: "nginx", "{}", text.trim_start()),
            _ => info!(target: "nginx", "{line}"),
        }
    }
}

/// Tells wasmtime, where Kong's host runs it, to keep what it compiles: each worker would, for a fifth of a second.
pub(crate) fn prepare_cache(file: &Path) -> anyhow::Result<()> {
    let folder = file.with_extension("cache");
    // A path in TOML's words is one in JSON's.
    let directory = serde_json::to_string(&folder).context("the folder of the cache")?;
    let text = format!("[cache]\nenabled = true\ndirectory = {directory}\n");
    std::fs::write(file, text).with_context(|| file.display().to_string())
}

/// Puts nginx's own files where only we and it see them.
pub(crate) fn folder(run_dir: &Path) -> anyhow::Result<PathBuf> {
    let folder = std::path::absolute(run_dir.join("nginx")).context("--run-dir")?;
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}
