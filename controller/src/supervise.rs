//! Envoy as a child process: started, watched, started again, drained and stopped.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use hyper::Method;
use rustix::process::{Pid, Signal, kill_process};
use sluice_xds::{BootstrapSettings, ControllerAddress};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tracing::{debug, error, info, warn};

use crate::args::{Child as Flags, Shutdown};
use crate::restarts::Restarts;
use crate::tasks::Tasks;
use crate::{binary, envoy_admin};

/// How often the admin interface is asked while something is awaited.
const ASK: Duration = Duration::from_millis(20);
/// A connection is told to close with the answer to its next request. One that rests for longer is closed without.
const REST: Duration = Duration::from_secs(1);
/// Time for Envoy to end after it was told to, before it is killed: by then it has nothing left to do.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How to start Envoy.
#[derive(Clone, Debug)]
pub(crate) struct Envoy {
    binary: PathBuf,
    bootstrap: PathBuf,
    admin_socket: PathBuf,
    concurrency: Option<u32>,
    drain_timeout: Duration,
    /// Where others read the process id; 0 while none runs.
    pid: Arc<AtomicU32>,
    tasks: Tasks,
}

/// The Envoy that runs right now.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) admin_socket: PathBuf,
    /// 0 while none runs.
    pub(crate) pid: Arc<AtomicU32>,
}

impl Envoy {
    /// Finds the binary and writes the bootstrap.
    pub(crate) fn prepare(
        flags: &Flags,
        shutdown: &Shutdown,
        run_dir: &Path,
        node_id: &str,
        controller: ControllerAddress,
        tasks: Tasks,
    ) -> anyhow::Result<Self> {
        let admin_socket = run_dir.join("envoy-admin.sock");
        let bootstrap = run_dir.join("bootstrap.json");
        let settings = BootstrapSettings {
            node_id: node_id.to_owned(),
            zone: flags.zone(),
            admin_socket: admin_socket.clone(),
            controller,
        };
        let text = serde_json::to_string_pretty(&sluice_xds::bootstrap(&settings)).context("bootstrap")?;
        std::fs::write(&bootstrap, text).with_context(|| bootstrap.display().to_string())?;
        Ok(Envoy {
            binary: binary::find(flags.envoy_binary.as_deref(), "envoy", "--envoy-binary", "ENVOY_BINARY")?,
            bootstrap,
            admin_socket,
            concurrency: flags.envoy_concurrency,
            drain_timeout: shutdown.drain_timeout,
            pid: Arc::default(),
            tasks,
        })
    }

    /// What others may look at while it runs.
    pub(crate) fn running(&self) -> Running {
        Running { admin_socket: self.admin_socket.clone(), pid: Arc::clone(&self.pid) }
    }

    /// Where its admin interface is.
    pub(crate) fn admin_socket(&self) -> &Path {
        &self.admin_socket
    }

    /// Keeps an Envoy running until `stop` becomes true, then drains and ends it. `live` is called whenever one has
    /// become ready to serve.
    pub(crate) async fn supervise(self, mut stop: watch::Receiver<bool>, live: impl Fn() + Send + Sync) {
        let mut restarts = Restarts::of("envoy");
        while !*stop.borrow() {
            restarts.begin();
            match self.start() {
                Ok(child) => {
                    let Some(status) = self.outlived(child, &mut stop, &live).await else { return };
                    restarts.ended(status, &mut stop).await;
                }
                Err(error) => restarts.failed(&error, &mut stop).await,
            }
        }
    }

    /// How a child ended by itself; `None` when it was stopped because we were told to.
    async fn outlived(
        &self,
        mut child: Child,
        stop: &mut watch::Receiver<bool>,
        live: impl Fn(),
    ) -> Option<String> {
        let ended = tokio::select! {
            status = child.wait() => Some(status.map_or_else(|e| e.to_string(), |status| status.to_string())),
            _ = stop.wait_for(|stop| *stop) => None,
            never = announce(&self.admin_socket, live) => match never {},
        };
        self.pid.store(0, Ordering::Relaxed);
        if ended.is_none() {
            self.stop(child).await;
        }
        ended
    }

    fn start(&self) -> anyhow::Result<Child> {
        // What an Envoy that died has left behind would keep the next one from listening.
        std::fs::remove_file(&self.admin_socket).ok();
        let mut command = Command::new(&self.binary);
        command.arg("--config-path").arg(&self.bootstrap);
        command.args(["--disable-hot-restart", "--log-format", "%l\t%n\t%v"]);
        // What we send was made from Envoy's own types. Looking through all of it for fields that Envoy does not know is a
        // fifth of what a change of one route among ten thousand hosts costs it.
        command.arg("--ignore-unknown-dynamic-fields");
        if let Some(workers) = self.concurrency {
            command.arg("--concurrency").arg(workers.to_string());
        }
        // A Ctrl-C is for us alone: Envoy is drained before it ends.
        command.process_group(0);
        // What it writes to its standard output are requests, and ours is for them alone.
        command.stdin(Stdio::null()).stdout(Stdio::inherit()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.binary.display()))?;
        let pid = child.id().unwrap_or_default();
        self.pid.store(pid, Ordering::Relaxed);
        info!("envoy started, pid {pid}");
        child.stderr.take().map(|stderr| self.tasks.spawn_finite("envoy log", pass_on(stderr)));
        Ok(child)
    }

    /// New connections go elsewhere, open requests get their time, then Envoy ends.
    async fn stop(&self, mut child: Child) {
        info!("draining envoy");
        for path in ["/healthcheck/fail", "/drain_listeners?graceful&skip_exit"] {
            if let Err(error) = envoy_admin::call(&self.admin_socket, Method::POST, path).await {
                warn!("{error:#}");
            }
        }
        let began = Instant::now();
        let drained = async {
            while self.open().await.is_some_and(|open| open.keeps_us(began.elapsed())) {
                tokio::time::sleep(ASK).await;
            }
        };
        if tokio::time::timeout(self.drain_timeout, drained).await.is_err() {
            warn!("requests are still open after {:?}; ending envoy all the same", self.drain_timeout);
        }
        terminate(&child);
        if tokio::time::timeout(LAST_WORDS, child.wait()).await.is_err() {
            warn!("envoy did not end in {LAST_WORDS:?}; killing it");
            child.kill().await.ok();
        }
        info!("envoy stopped");
    }

    async fn open(&self) -> Option<Open> {
        const STATS: &str = "/stats?filter=downstream_(rq|cx)_active$";
        Some(Open::read(&envoy_admin::call(&self.admin_socket, Method::GET, STATS).await.ok()?))
    }
}

/// What clients have open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Open {
    requests: u64,
    connections: u64,
}

impl Open {
    /// The request that asks is open, too, and does not count.
    fn read(stats: &str) -> Self {
        let sum = |end: &str| {
            let lines = stats.lines().filter_map(|line| line.split_once(": "));
            let ours = lines.filter(|(name, _)| {
                name.starts_with("http.") && !name.starts_with("http.admin.") && name.ends_with(end)
            });
            ours.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
        };
        Open { requests: sum("downstream_rq_active"), connections: sum("downstream_cx_active") }
    }

    /// Requests always; connections for the time in which a client that rests would have heard that it is to go.
    fn keeps_us(self, since: Duration) -> bool {
        self.requests > 0 || (self.connections > 0 && since < REST)
    }
}

/// SIGTERM works from the first moment on, also when there is no admin interface yet or its thread is busy.
fn terminate(child: &Child) {
    let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    if let Some(Err(error)) = pid.map(|pid| kill_process(pid, Signal::TERM)) {
        warn!("cannot end envoy: {error}");
    }
}

/// Says once when Envoy has its configuration and listens.
async fn announce(admin_socket: &Path, live: impl Fn()) -> Infallible {
    while !envoy_admin::call(admin_socket, Method::GET, "/ready")
        .await
        .is_ok_and(|body| body.starts_with("LIVE"))
    {
        tokio::time::sleep(ASK).await;
    }
    live();
    std::future::pending().await
}

/// Envoy's lines, in our log, at their level.
async fn pass_on(output: impl AsyncRead + Unpin) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let mut parts = line.splitn(3, '\t');
        match (parts.next(), parts.next(), parts.next()) {
            (Some("error" | "critical"), Some(component), Some(text)) => {
                error!(target: "envoy", "{component}: {text}");
            }
            (Some("warning"), Some(component), Some(text)) => warn!(target: "envoy", "{component}: {text}"),
            (Some("info"), Some(component), Some(text)) => debug!(target: "envoy", "{component}: {text}"),
            (Some("debug" | "trace"), Some(component), Some(text)) => {
                debug!(target: "envoy", "{component}: {text}");
            }
            _ => info!(target: "envoy", "{line}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "http.admin.downstream_rq_active: 1\nhttp.http.downstream_cx_active: 3\n\
        http.http.downstream_rq_active: 1\nhttp.https.downstream_rq_active: 2\nlistener.x.downstream_cx_active: 3\n";

    #[test]
    fn what_clients_have_open_is_counted_without_the_question() {
        assert_eq!(Open::read(STATS), Open { requests: 3, connections: 3 });
    }

    #[test]
    fn open_requests_are_waited_for_and_resting_connections_for_a_while() {
        let open = |requests, connections| Open { requests, connections };
        assert!(open(1, 1).keeps_us(REST * 9) && open(0, 1).keeps_us(REST / 2));
        assert!(!open(0, 1).keeps_us(REST) && !open(0, 0).keeps_us(Duration::ZERO));
    }
}
