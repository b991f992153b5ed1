//! The nginx of an earlier controller: a master that keeps serving, or workers whose master has died.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use hyper::Method;
use rustix::process::{Pid, Signal};
use sluice_tasks::Tasks;
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::http_exchange::exchange;
use crate::process::{Orphans, Process};
use crate::supervisor::{ADOPTION_TIMEOUT, KILL_TIMEOUT, POLL_INTERVAL, signal};

/// The nginx that runs already, if there is one.
#[derive(Debug)]
pub(super) struct Found {
    master: Option<Process>,
}

/// Use of the files of an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormerFiles {
    /// A running nginx reads them.
    InUse,
    Unused,
}

/// The record of the nginx of this directory.
pub(super) fn record(directory: &Path) -> PathBuf {
    directory.join("nginx.json")
}

impl Found {
    /// Finds the nginx of this directory. Workers without a master hold the ports but take no configuration: they are killed.
    pub(super) async fn in_directory(directory: &Path) -> Self {
        let record = record(directory);
        let master = Process::find(&record);
        if master.is_none()
            && let Some(orphans) = Orphans::of_dead(&record)
            && orphans.any()
        {
            warn!(
                "nginx, pid {}, has died and left workers; killing them",
                orphans.leader
            );
            orphans.kill().await;
        }
        Found { master }
    }

    pub(super) fn former_files(&self) -> FormerFiles {
        if self.master.is_some() {
            FormerFiles::InUse
        } else {
            FormerFiles::Unused
        }
    }

    /// The process that holds the ports.
    pub(super) fn pid(&self) -> Option<Pid> {
        self.master.as_ref().map(Process::pid)
    }

    /// The nginx, if it runs this program and answers. Otherwise it is told to exit after its open requests.
    pub(super) async fn adopt(
        &mut self,
        program: &Path,
        directory: &Path,
        tasks: &Tasks,
    ) -> Option<Process> {
        let master = self.master.take()?;
        match check(&master, program, directory).await {
            Ok(()) => {
                info!("nginx adopted, pid {}", master.pid());
                Some(master)
            }
            Err(error) => {
                warn!("replacing nginx, pid {}: {error:#}", master.pid());
                retire(master, directory, tasks).await;
                None
            }
        }
    }
}

async fn check(master: &Process, program: &Path, directory: &Path) -> anyhow::Result<()> {
    ensure!(master.runs(program), "it is not {}", program.display());
    let socket = sluice_nginx::no_endpoint_socket(directory);
    let answers = async {
        while !answers(&socket, master.pid()).await {
            ensure!(master.is_running(), "it has just exited");
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    };
    timeout(ADOPTION_TIMEOUT, answers)
        .await
        .context("it does not answer")?
}

async fn answers(socket: &Path, master: Pid) -> bool {
    let Ok(stream) = UnixStream::connect(socket).await else {
        return false;
    };
    let owner = stream.peer_cred().ok().and_then(|owner| owner.pid());
    owner == Some(master.as_raw_nonzero().get())
        && exchange(stream, Method::GET, "no-endpoint", "/")
            .await
            .is_ok()
}

/// Has nginx close its ports at once, so that another one can listen while this one completes its requests.
async fn retire(mut master: Process, directory: &Path, tasks: &Tasks) {
    signal("nginx", &master, Signal::QUIT);
    let socket = sluice_nginx::no_endpoint_socket(directory);
    let closed = async {
        while socket.exists() {
            sleep(POLL_INTERVAL).await;
        }
    };
    if timeout(KILL_TIMEOUT, closed).await.is_err() {
        signal("nginx", &master, Signal::KILL);
        master.orphans().kill().await;
    }
    tasks.spawn_finite("former nginx", async move { drop(master.ended().await) });
}
