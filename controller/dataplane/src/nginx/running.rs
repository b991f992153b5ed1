//! The nginx that runs at the moment, for readers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use hyper::Method;
use rustix::process::Pid;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::workers::workers;
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
}

impl Running {
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
