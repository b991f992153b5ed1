//! What a controller before us has left: an nginx that serves on, or workers whose master has died.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use hyper::Method;
use rustix::process::{Pid, Signal};
use sluice_tasks::Tasks;
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use super::{ASK, LAST_WORDS, tell};

use crate::exchange::exchange;
use crate::process::{self, Process};

/// An nginx whose controller was killed right after it had started it answers within this time.
const YOUNG: Duration = Duration::from_secs(5);

/// The nginx that runs already, if there is one.
#[derive(Debug)]
pub(crate) struct Found {
    master: Option<Process>,
}

/// What files of a former run are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// An nginx reads them.
    InUse,
    Unused,
}

/// Where the nginx of this folder is written down.
pub(super) fn record(folder: &Path) -> PathBuf {
    folder.join("nginx.json")
}

impl Found {
    /// Looks for it. Workers without a master have the ports, take no configuration, and end here.
    pub(crate) fn look(folder: &Path) -> Self {
        let record = record(folder);
        let master = Process::find(&record);
        if master.is_none()
            && let Some(orphans) = process::dead(&record)
            && orphans.any()
        {
            warn!(
                "nginx, pid {}, has died and left workers; ending them",
                orphans.leader
            );
            orphans.end();
        }
        Found { master }
    }

    /// What has become of its files.
    pub(crate) fn left(&self) -> Left {
        if self.master.is_some() {
            Left::InUse
        } else {
            Left::Unused
        }
    }

    /// It has the ports.
    pub(crate) fn pid(&self) -> Option<Pid> {
        self.master.as_ref().map(Process::pid)
    }

    /// The nginx, if it runs this program and answers. Otherwise it is told to end with its last request.
    pub(super) async fn adopt(
        &mut self,
        binary: &Path,
        folder: &Path,
        tasks: &Tasks,
    ) -> Option<Process> {
        let master = self.master.take()?;
        match check(&master, binary, folder).await {
            Ok(()) => {
                info!("nginx adopted, pid {}", master.pid());
                Some(master)
            }
            Err(error) => {
                warn!("nginx, pid {}, is replaced: {error:#}", master.pid());
                leave(master, folder, tasks).await;
                None
            }
        }
    }
}

async fn check(master: &Process, binary: &Path, folder: &Path) -> anyhow::Result<()> {
    ensure!(master.is_of(binary), "it is not {}", binary.display());
    let socket = sluice_nginx::nobody(folder);
    let answers = async {
        while !answers(&socket, master.pid()).await {
            ensure!(master.is_running(), "it has just ended");
            sleep(ASK).await;
        }
        Ok(())
    };
    timeout(YOUNG, answers)
        .await
        .context("it does not answer")?
}

async fn answers(socket: &Path, master: Pid) -> bool {
    let Ok(stream) = UnixStream::connect(socket).await else {
        return false;
    };
    let owner = stream.peer_cred().ok().and_then(|owner| owner.pid());
    owner == Some(master.as_raw_nonzero().get())
        && exchange(stream, Method::GET, "nobody", "/").await.is_ok()
}

/// It closes its ports at once, and another one can listen there while it answers what is open.
async fn leave(mut master: Process, folder: &Path, tasks: &Tasks) {
    tell(&master, Signal::QUIT);
    let socket = sluice_nginx::nobody(folder);
    let left = async {
        while socket.exists() {
            sleep(ASK).await;
        }
    };
    if timeout(LAST_WORDS, left).await.is_err() {
        tell(&master, Signal::KILL);
        master.orphans().end();
    }
    tasks.spawn_finite("former nginx", async move { drop(master.ended().await) });
}
