//! The nginx that runs at the moment, for readers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::Method;
use rustix::process::Pid;
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::configurations::Configuration;
use super::workers::workers;
use super::{ReloadEvent, ReloadReason};
use crate::http_exchange::exchange;
use crate::supervisor::SharedPid;

/// Longer than any request of ours takes.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The nginx that runs at the moment.
#[derive(Clone, Debug)]
pub struct Running {
    pub(super) pid: SharedPid,
    /// Socket of its counters, if it has them.
    pub(super) status: Option<PathBuf>,
    pub(super) version: String,
    pub(super) loads: Loads,
    pub(super) configurations: watch::Receiver<Option<Arc<Configuration>>>,
}

/// Outcomes of configurations. A handle, cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Loads(Arc<Mutex<Load>>);

/// Outcomes of configurations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// When nginx loaded one last, by a start or a reload, or was adopted with it.
    pub at: Option<Instant>,
    /// Times that it has, with this controller.
    pub count: u64,
    /// Why it was loaded by a reload.
    pub reason: Option<&'static str>,
    /// Why it does not have the latest one: nginx's error message.
    pub refused: Option<String>,
    /// It is about to load the latest one.
    pub is_pending: bool,
    content: Option<u128>,
    refused_content: Option<u128>,
}

impl Load {
    fn loaded(&mut self, content: u128, reason: Option<ReloadReason>) {
        *self = Load {
            at: Some(Instant::now()),
            count: self.count + 1,
            reason: reason.map(ReloadReason::as_str),
            content: Some(content),
            ..Load::default()
        };
    }
}

impl Loads {
    pub(super) fn note(&self, event: &ReloadEvent) {
        let mut load = self.load();
        match event {
            ReloadEvent::Reloaded { content, reason } => {
                load.loaded(*content, *reason);
            }
            ReloadEvent::Unchanged(content) => load.loaded(*content, None),
            ReloadEvent::Rejected { content, message } => {
                load.refused = Some(message.clone());
                load.refused_content = Some(*content);
            }
            ReloadEvent::Failed => {
                load.refused = Some("nginx could not be reloaded".to_owned());
            }
        }
    }

    fn load(&self) -> MutexGuard<'_, Load> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With what the latest configuration is.
    fn of_latest(&self, latest: Option<u128>) -> Load {
        let load = self.load().clone();
        let is_known = latest == load.content || latest == load.refused_content;
        Load {
            is_pending: latest.is_some() && !is_known,
            ..load
        }
    }
}

/// The version that `nginx -V` names.
pub(super) fn version(features: &str) -> String {
    let line = features.lines().next().unwrap_or_default();
    let (_, version) = line.split_once('/').unwrap_or_default();
    version.split(' ').next().unwrap_or_default().to_owned()
}

impl Running {
    /// Its version, such as `1.26.3`; empty when it names none.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Outcomes of configurations.
    #[must_use]
    pub fn load(&self) -> Load {
        let latest = self.configurations.borrow();
        let latest = latest.as_ref().map(|configuration| configuration.content);
        self.loads.of_latest(latest)
    }

    /// Process ids: the master's first.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let master = i32::try_from(self.pid.get()).ok().and_then(Pid::from_raw);
        let workers = master.map(workers).unwrap_or_default();
        let master = master.map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
        master.into_iter().chain(workers).collect()
    }

    /// Text of `ngx_http_stub_status_module`; `None` if nginx has no such module.
    ///
    /// # Errors
    ///
    /// There is no response within two seconds, or its status is not 200.
    pub async fn stub_status(&self) -> anyhow::Result<Option<String>> {
        let Some(socket) = &self.status else {
            return Ok(None);
        };
        let text = timeout(TIMEOUT, ask(socket)).await;
        let text = text.with_context(|| format!("nginx: no status within {TIMEOUT:?}"))?;
        text.map(Some)
    }
}

async fn ask(socket: &Path) -> anyhow::Result<String> {
    let stream = UnixStream::connect(socket).await?;
    let (status, body) = exchange(stream, Method::GET, "nginx", "/").await?;
    if !status.is_success() {
        bail!("nginx status: {status}");
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_nginx() {
        for (features, expected) in [
            (
                "nginx version: nginx/1.26.3\nbuilt with OpenSSL 3",
                "1.26.3",
            ),
            ("nginx version: nginx/1.26.3 (Debian)\n", "1.26.3"),
            ("", ""),
        ] {
            assert_eq!(version(features), expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_configuration_is_pending_until_nginx_has_loaded_or_refused_it() {
        let loads = Loads::default();
        let is_pending = |latest| loads.of_latest(latest).is_pending;
        assert!(!is_pending(None) && is_pending(Some(1)));
        loads.note(&ReloadEvent::Reloaded {
            content: 1,
            reason: Some(ReloadReason::Hosts),
        });
        assert_eq!(loads.of_latest(Some(1)).reason, Some("hosts"));
        assert!(!is_pending(Some(1)) && is_pending(Some(2)));
        loads.note(&ReloadEvent::Rejected {
            content: 2,
            message: "why".to_owned(),
        });
        let load = loads.of_latest(Some(2));
        assert_eq!(
            (load.is_pending, load.refused.as_deref()),
            (false, Some("why"))
        );
        assert!(is_pending(Some(3)));
        loads.note(&ReloadEvent::Unchanged(3));
        let load = loads.of_latest(Some(3));
        assert_eq!((load.count, load.refused), (2, None));
    }
}
