//! nginx as a process of ours: started, or taken over from a controller that was killed; watched, told to reload, drained and
//! stopped.

mod access_log;
mod certificates;
mod configurations;
mod found;
mod lines;
mod outcome;
mod pods;
mod reload;
mod requests;

use std::fs::{DirBuilder, Permissions};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;
use sluice_nginx::{OpenSsl, Settings, Streams};
use sluice_tasks::Tasks;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{error, info, warn};

pub(crate) use access_log::AccessLog;
pub(crate) use certificates::Certificates;
pub(crate) use configurations::{Configuration, Configurations, Owners};
pub(crate) use found::{Found, Left};
pub(crate) use lines::pass_on;
pub(crate) use outcome::{Outcome, Verdict};
pub(crate) use requests::RequestLog;

use crate::child_log::ChildLog;
use crate::content::content;
use crate::private;
use crate::process::Process;
use crate::restarts::Restarts;

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
    let output = std::process::Command::new(binary)
        .arg("-V")
        .stdin(Stdio::null())
        .output();
    let said = output
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
        .unwrap_or_default();
    let streams = Streams::of_nginx(&said, binary, Path::is_file);
    Settings {
        openssl: OpenSsl::of_nginx(&said),
        streams,
        ..settings
    }
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
    /// What it writes to its standard error.
    pub(crate) log: ChildLog,
    /// What a controller before us has left.
    pub(crate) found: Found,
    pub(crate) tasks: Tasks,
}

impl Nginx {
    /// Its process, 0 while there is none.
    pub(crate) fn pid(&self) -> Arc<AtomicU32> {
        Arc::clone(&self.pid)
    }

    /// Where it serves.
    pub(crate) fn http(&self) -> SocketAddr {
        reachable(self.http)
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
        let mut adopted = self
            .found
            .adopt(&self.binary, &self.folder, &self.tasks)
            .await;
        // Without a good configuration there is nothing to start.
        while adopted.is_none() && !self.next_configuration(&mut stop, &outcome).await {
            if *stop.borrow() {
                return;
            }
        }
        while !*stop.borrow() {
            restarts.begin();
            match adopted.take().map_or_else(|| self.start(), Ok) {
                Ok(process) => {
                    let outlived = self.outlived(process, &mut stop, &outcome, &live);
                    let Some(how) = outlived.await else { return };
                    restarts.ended(how, &mut stop).await;
                }
                Err(error) => restarts.failed(&error, &mut stop).await,
            }
        }
    }

    /// Waits for a configuration and takes it over; `false` when nginx refuses it, or when we are to stop.
    async fn next_configuration(
        &mut self,
        stop: &mut watch::Receiver<bool>,
        outcome: &Outcome,
    ) -> bool {
        let told = told(stop);
        tokio::select! {
            // An error: the publisher is gone, and we are told to stop soon.
            Ok(()) = self.configurations.changed() => {}
            () = told => return false,
        }
        let Some(latest) = self.latest().await else {
            return false;
        };
        let is_taken = self.take_over(&latest, outcome).await;
        if is_taken {
            outcome.taken(&latest);
        }
        is_taken
    }

    async fn latest(&mut self) -> Option<Arc<Configuration>> {
        tokio::time::sleep(DEBOUNCE).await;
        self.configurations.borrow_and_update().clone()
    }

    /// `false` when nginx refuses it.
    async fn take_over(&self, latest: &Arc<Configuration>, outcome: &Outcome) -> bool {
        let adopted = configurations::adopt(&self.binary, &self.folder, &latest.text).await;
        match &adopted {
            Ok(()) => self.forget_former(latest),
            Err(error) => {
                error!("nginx refuses the configuration, the last good one stays: {error}");
                outcome.refused(latest, error);
            }
        }
        adopted.is_ok()
    }

    fn forget_former(&self, latest: &Arc<Configuration>) {
        let forget = forget(self.certificates.clone(), Arc::clone(latest));
        self.tasks.spawn_finite("nginx certificates", forget);
    }

    /// How an nginx ended by itself; `None` when it was stopped because we were told to.
    async fn outlived(
        &mut self,
        mut process: Process,
        stop: &mut watch::Receiver<bool>,
        outcome: &Outcome,
        live: impl Fn(),
    ) -> Option<String> {
        self.pid.store(
            process.pid().as_raw_nonzero().get().cast_unsigned(),
            Ordering::Relaxed,
        );
        let mut announce = pin!(announce(self.http, live));
        let mut is_live = false;
        let ended = loop {
            let to_stop = told(stop);
            tokio::select! {
                how = process.ended() => break Some(how),
                () = to_stop => break None,
                Ok(()) = self.configurations.changed() => {}
                () = &mut announce, if !is_live => {
                    is_live = true;
                    if let Err(error) = process.renew() {
                        warn!("the next controller will not know this nginx: {error:#}");
                    }
                    continue;
                }
            }
            let to_stop = told(stop);
            tokio::select! {
                () = self.give(&mut process, outcome) => {}
                () = to_stop => break None,
            }
        };
        self.pid.store(0, Ordering::Relaxed);
        match ended {
            None => self.stop(process).await,
            // Workers do not notice that their master has died: they would serve what they know for ever, and keep the ports.
            Some(_) => process.orphans().end(),
        }
        self.log.pass_on();
        ended
    }

    /// Gives it the latest configuration, unless it has that: the new workers serve before the old ones stop.
    async fn give(&mut self, process: &mut Process, outcome: &Outcome) {
        let Some(latest) = self.latest().await else {
            return;
        };
        let serves = serves(&latest.text);
        if process.serves() == Some(&serves) {
            self.forget_former(&latest);
            return outcome.serves(&latest);
        }
        // Nothing is certain until it has workers with the new configuration.
        let before = process.serves().map(str::to_owned);
        note(process, None);
        if self.take_over(&latest, outcome).await {
            self.reload(process, &latest, serves, outcome).await;
        } else {
            note(process, before);
        }
    }

    async fn reload(
        &self,
        process: &mut Process,
        latest: &Configuration,
        serves: String,
        outcome: &Outcome,
    ) {
        info!("reloading nginx");
        let master = Some(process.pid());
        let before = reload::workers(master);
        tell(process, Signal::HUP);
        let is_taken = tokio::select! {
            is_taken = reload::is_taken(master, &before) => is_taken,
            // Whoever called hears of it next.
            _ = process.ended() => return,
        };
        if is_taken {
            note(process, Some(serves));
            outcome.taken(latest);
        } else {
            error!(
                "nginx did not take a configuration that it found good before, and serves the last one"
            );
            outcome.not_taken();
        }
    }

    fn start(&self) -> anyhow::Result<Process> {
        // What an nginx that died has left behind would keep the next one from listening.
        std::fs::remove_file(sluice_nginx::nobody(&self.folder)).ok();
        let configuration = configurations::file(&self.folder);
        let text = std::fs::read_to_string(&configuration)
            .with_context(|| configuration.display().to_string())?;
        let mut command = Command::new(&self.binary);
        command
            .args(["-e", "stderr", "-p"])
            .arg(&self.folder)
            .arg("-c")
            .arg(configuration);
        // A Ctrl-C is for us alone: nginx is drained before it ends.
        command.process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.log.stderr()?);
        let process = Process::start(command, &found::record(&self.folder), Some(serves(&text)))?;
        info!("nginx started, pid {}", process.pid());
        Ok(process)
    }

    /// New connections go elsewhere, open requests get their time, then nginx ends.
    async fn stop(&self, mut process: Process) {
        info!("draining nginx");
        tell(&process, Signal::QUIT);
        if timeout(self.drain_timeout, process.ended()).await.is_err() {
            warn!(
                "requests are still open after {:?}; ending nginx all the same",
                self.drain_timeout
            );
            tell(&process, Signal::TERM);
            if timeout(LAST_WORDS, process.ended()).await.is_err() {
                warn!("nginx did not end in {LAST_WORDS:?}; killing it");
                tell(&process, Signal::KILL);
                process.ended().await;
            }
        }
        // The last lines are written when workers end.
        if let Some(log) = self.access_log.clone() {
            tokio::task::spawn_blocking(move || log.pass_on())
                .await
                .ok();
        }
        info!("nginx stopped");
    }
}

/// A configuration in short.
fn serves(text: &str) -> String {
    format!("{:032x}", content(text))
}

fn note(process: &mut Process, serves: Option<String>) {
    if let Err(error) = process.note(serves) {
        warn!("the next controller will not know what nginx serves: {error:#}");
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

fn tell(nginx: &Process, signal: Signal) {
    if let Err(error) = nginx.signal(signal) {
        warn!("cannot signal nginx: {error}");
    }
}

/// Says once when nginx listens.
async fn announce(http: SocketAddr, live: impl Fn()) {
    while TcpStream::connect(reachable(http)).await.is_err() {
        tokio::time::sleep(ASK).await;
    }
    live();
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

/// Tells wasmtime, where Kong's host runs it, to keep what it compiles: each worker would, for a fifth of a second.
pub(crate) fn prepare_cache(file: &Path) -> anyhow::Result<()> {
    let folder = file.with_extension("cache");
    // A path in TOML's words is one in JSON's.
    let directory = serde_json::to_string(&folder).context("the folder of the cache")?;
    let text = format!("[cache]\nenabled = true\ndirectory = {directory}\n");
    private::write(file, text).with_context(|| file.display().to_string())
}

/// Puts nginx's own files where only we and it see them.
pub(crate) fn folder(run_dir: &Path) -> anyhow::Result<PathBuf> {
    let folder = std::path::absolute(run_dir.join("nginx")).context("--run-dir")?;
    let place = || folder.display().to_string();
    // nginx lets everybody open its own sockets, so the folder must not.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(place)?;
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).with_context(place)?;
    Ok(folder)
}
