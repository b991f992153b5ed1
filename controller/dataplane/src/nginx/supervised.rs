//! nginx under the supervisor: configurations are tested, then loaded by a start or a reload.

use std::fmt;
use std::future::Future;
use std::num::NonZeroU32;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;
use tokio::process::Command;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::configuration_test::{self, Rejection};
use super::configurations::Configuration;
use super::{Nginx, ReloadEvent, adoption, workers};
use crate::child_log::ChildLog;
use crate::content_hash::content_hash;
use crate::process::Process;
use crate::supervisor::{POLL_INTERVAL, Program, SharedPid, gave_up, signal, stopped, terminate};

/// Changes this close together share a reload, because each reload forks new workers.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// After a reload, all workers have the new configuration and handshakes with the old one are over.
const RELOAD_SETTLED: Duration = Duration::from_secs(10);

/// Waits until a configuration that was not loaded is tried again; they double. A first one that was refused is, and any that is not
/// at fault: a port in it may be free later.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_secs(30);

/// Reason why a configuration was not installed.
#[derive(PartialEq, Eq)]
enum NotInstalled {
    /// nginx refuses it, and whoever publishes it leaves out what is at fault.
    Refused,
    /// It could not be tested.
    Untested,
}

/// Called with what became of a configuration.
pub(super) type OnReload = Box<dyn Fn(ReloadEvent) + Send + Sync>;

/// An nginx with the listener for its reloads.
pub(super) struct Supervised {
    nginx: Nginx,
    on_reload: OnReload,
    /// `None`: nobody knows.
    loaded: Option<Arc<Configuration>>,
    /// The latest one was not loaded, and is tried again after this.
    retry: Option<Duration>,
}

impl fmt::Debug for Supervised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.nginx.fmt(f)
    }
}

impl Supervised {
    pub(super) fn new(nginx: Nginx, on_reload: OnReload) -> Self {
        Supervised {
            nginx,
            on_reload,
            loaded: None,
            retry: None,
        }
    }

    /// The latest configuration, when changes that come close together are over.
    async fn debounced_latest(&mut self) -> Option<Arc<Configuration>> {
        tokio::time::sleep(DEBOUNCE).await;
        self.nginx.configurations.borrow_and_update().clone()
    }

    /// Waits for a configuration that nginx accepts. Without one there is nothing to start. Whoever publishes it leaves out what is
    /// refused, so that another one comes; where none does, what it names may be mended, and it is tried again.
    ///
    /// # Errors
    ///
    /// nginx has refused it `max_failed_starts` times.
    async fn first_configuration(
        &mut self,
        max_failed_starts: Option<NonZeroU32>,
    ) -> anyhow::Result<()> {
        let (mut failures, mut delay) = (0, None);
        loop {
            let changed = self.nginx.configurations.changed();
            match timeout(delay.unwrap_or(Duration::MAX), changed).await {
                Ok(Ok(())) => {
                    let Some(latest) = self.debounced_latest().await else {
                        continue;
                    };
                    if self.install(&latest).await.is_ok() {
                        self.installed_first(latest);
                        return Ok(());
                    }
                    (failures, delay) = (1, Some(FIRST_RETRY));
                }
                // The publisher is gone, and we are stopped soon.
                Ok(Err(_)) => return std::future::pending().await,
                Err(_) => {
                    if max_failed_starts.is_some_and(|most| failures >= most.get()) {
                        return Err(gave_up::<Self>(failures));
                    }
                    if self.retry_first(failures).await {
                        return Ok(());
                    }
                    failures += 1;
                    delay = Some(next_retry(delay));
                }
            }
        }
    }

    /// Tries the configuration that was refused before; `false`: it is again.
    async fn retry_first(&mut self, failures: u32) -> bool {
        let Some(latest) = self.nginx.configurations.borrow().clone() else {
            return false;
        };
        if let Err(rejection) = self.try_install(&latest).await {
            let times = failures + 1;
            error!("nginx has refused its first configuration {times} times: {rejection}");
            return false;
        }
        self.installed_first(latest);
        true
    }

    fn installed_first(&mut self, configuration: Arc<Configuration>) {
        self.nginx.tables.note_loaded();
        (self.on_reload)(ReloadEvent::Reloaded {
            content: configuration.content,
            reason: None,
        });
        self.loaded = Some(configuration);
    }

    /// Makes a configuration the one that nginx loads next, or says why not.
    async fn install(&self, latest: &Arc<Configuration>) -> Result<(), NotInstalled> {
        let Err(rejection) = self.try_install(latest).await else {
            return Ok(());
        };
        let kept = match self.nginx.pid.get() {
            0 => "there is no other yet",
            _ => "previous configuration kept",
        };
        error!("nginx refuses the configuration; {kept}: {rejection}");
        match rejection {
            Rejection::Invalid(message) => {
                (self.on_reload)(ReloadEvent::Rejected {
                    content: latest.content,
                    message,
                });
                Err(NotInstalled::Refused)
            }
            Rejection::Untested(_) => {
                (self.on_reload)(ReloadEvent::Failed);
                Err(NotInstalled::Untested)
            }
        }
    }

    async fn try_install(&self, latest: &Arc<Configuration>) -> Result<(), Rejection> {
        let nginx = &self.nginx;
        self.note_next(latest);
        configuration_test::install(&nginx.program, &nginx.directory, &latest.text).await?;
        self.remove_unused_files(latest);
        Ok(())
    }

    fn note_next(&self, configuration: &Configuration) {
        let table = configuration.table.as_ref();
        let name = table.map(|table| table.name.as_str());
        self.nginx.tables.note_next(name);
    }

    /// Removes the files that only earlier configurations name, once no worker uses those.
    fn remove_unused_files(&self, loaded: &Arc<Configuration>) {
        let nginx = &self.nginx;
        let (certificates, tables) = (nginx.certificates.clone(), Arc::clone(&nginx.tables));
        let loaded = Arc::clone(loaded);
        let remove = async move {
            tokio::time::sleep(RELOAD_SETTLED).await;
            certificates.retain_named(|file| loaded.names(file));
            tables.remove_unused();
        };
        nginx.tasks.spawn_finite("nginx files", remove);
    }

    /// False if nginx goes on without it.
    async fn reload(&mut self, process: &mut Process, latest: Arc<Configuration>) -> bool {
        let reason = latest.reload_reason(self.loaded.as_deref());
        info!("reloading nginx ({})", reason.as_str());
        let master = process.pid();
        let before = workers::workers(master);
        signal(Self::NAME, process, Signal::HUP);
        let is_reloaded = tokio::select! {
            is_reloaded = workers::wait_for_new(master, &before) => is_reloaded,
            // The supervisor notices it next.
            _ = process.ended() => return true,
        };
        if is_reloaded {
            self.nginx.tables.note_loaded();
            record_serves(process, Some(digest(latest.content)));
            (self.on_reload)(ReloadEvent::Reloaded {
                content: latest.content,
                reason: Some(reason),
            });
            self.loaded = Some(latest);
        } else {
            error!("reload failed although `nginx -t` passed; previous configuration kept");
            (self.on_reload)(ReloadEvent::Failed);
        }
        is_reloaded
    }
}

impl Program for Supervised {
    const NAME: &'static str = "nginx";

    fn pid(&self) -> &SharedPid {
        &self.nginx.pid
    }

    fn log(&self) -> &ChildLog {
        &self.nginx.log
    }

    async fn adopt(&mut self) -> Option<Process> {
        let Nginx {
            found,
            program,
            directory,
            tasks,
            ..
        } = &mut self.nginx;
        found.adopt(program, directory, tasks).await
    }

    async fn can_start(
        &mut self,
        stop: &mut watch::Receiver<bool>,
        max_failed_starts: Option<NonZeroU32>,
    ) -> anyhow::Result<bool> {
        tokio::select! {
            installed = self.first_configuration(max_failed_starts) => installed.map(|()| true),
            () = stopped(stop) => Ok(false),
        }
    }

    fn start(&self) -> anyhow::Result<Process> {
        let nginx = &self.nginx;
        remove_sockets(&nginx.directory).with_context(|| nginx.directory.display().to_string())?;
        let configuration = configuration_test::file(&nginx.directory);
        let text = std::fs::read_to_string(&configuration)
            .with_context(|| configuration.display().to_string())?;
        let mut command = Command::new(&nginx.program);
        command
            .args(["-e", "stderr", "-p"])
            .arg(&nginx.directory)
            .arg("-c")
            .arg(configuration);
        // Ctrl-C signals the foreground process group, and nginx has to be drained before it exits.
        command.process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(nginx.log.stderr()?);
        let record = adoption::record(&nginx.directory);
        let process = Process::start(command, &record, Some(digest(content_hash(&text))))?;
        info!("nginx started, pid {}", process.pid());
        Ok(process)
    }

    fn ready(&self) -> impl Future<Output = ()> + Send + 'static {
        let (pid, http) = (self.nginx.pid.clone(), self.nginx.http);
        async move {
            while workers::serving(pid.get(), http).await.is_err() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }

    async fn next_change(&mut self, _is_ready: bool) {
        let changed = self.nginx.configurations.changed();
        let delay = self.retry.unwrap_or(Duration::MAX);
        if let Ok(Err(_)) = timeout(delay, changed).await {
            // The publisher is gone, and we are stopped soon.
            std::future::pending::<()>().await;
        }
    }

    /// Loads the latest configuration, unless nginx has it already. New workers serve before the old ones exit.
    async fn apply_change(&mut self, process: &mut Process) {
        let Some(latest) = self.debounced_latest().await else {
            return;
        };
        if process.serves() == Some(&digest(latest.content)) {
            self.note_next(&latest);
            self.nginx.tables.note_loaded();
            self.remove_unused_files(&latest);
            (self.on_reload)(ReloadEvent::Unchanged(latest.content));
            self.loaded = Some(latest);
            self.retry = None;
            return;
        }
        // Uncertain until there are workers with the new configuration.
        let before = process.serves().map(str::to_owned);
        record_serves(process, None);
        let is_final = match self.install(&latest).await {
            Ok(()) => self.reload(process, latest).await,
            Err(reason) => {
                record_serves(process, before);
                reason == NotInstalled::Refused
            }
        };
        self.retry = (!is_final).then(|| next_retry(self.retry));
    }

    async fn drain(&mut self, mut process: Process) {
        info!("draining nginx");
        signal(Self::NAME, &process, Signal::QUIT);
        let drain_timeout = self.nginx.drain_timeout;
        if timeout(drain_timeout, process.ended()).await.is_err() {
            warn!(
                "drain timeout: requests are still open after {drain_timeout:?}; terminating nginx"
            );
            terminate(Self::NAME, &mut process).await;
        }
        // Workers write their last lines when they exit.
        if let Some(log) = self.nginx.access_log.clone() {
            tokio::task::spawn_blocking(move || log.forward())
                .await
                .ok();
        }
        info!("nginx stopped");
    }

    /// Workers do not notice that their master has died. They would keep the ports and an old configuration forever.
    async fn exited(&mut self, process: &Process) {
        process.orphans().kill().await;
    }
}

/// The wait after this one.
fn next_retry(before: Option<Duration>) -> Duration {
    before.map_or(FIRST_RETRY, |delay| (delay * 2).min(LAST_RETRY))
}

/// A configuration's hash, as records have it.
fn digest(content: u128) -> String {
    format!("{content:032x}")
}

/// Removes the sockets of an nginx that died, which would keep the next one from listening.
fn remove_sockets(directory: &Path) -> std::io::Result<()> {
    for file in directory.read_dir()? {
        let file = file?;
        if file.file_type()?.is_socket() {
            std::fs::remove_file(file.path())?;
        }
    }
    Ok(())
}

fn record_serves(process: &mut Process, serves: Option<String>) {
    if let Err(error) = process.set_serves(serves) {
        warn!("the next controller will not know which configuration nginx has: {error:#}");
    }
}
