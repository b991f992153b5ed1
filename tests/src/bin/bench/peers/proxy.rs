//! A proxy that runs, whichever it is.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result};
use sluice_tests::log::Log;
use sluice_tests::process::Process;
use sluice_tests::{proc, wait};
use tokio::net::TcpStream;

/// The outcome of a change.
pub(crate) type Changed<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// Differences of proxies; each ends when this is dropped.
pub(crate) trait Proxy: Send + Sync {
    /// The processes that requests go through.
    fn processes(&self) -> Result<Vec<u32>>;

    fn log(&self) -> &Log;

    /// Tells it, in its own way, that other pods serve now; does not wait for the effect.
    fn change<'a>(&'a mut self, pods: &'a [SocketAddr]) -> Changed<'a>;
}

/// A proxy with its addresses.
pub(crate) struct Running {
    pub(crate) http: SocketAddr,
    pub(crate) https: SocketAddr,
    pub(crate) proxy: Box<dyn Proxy>,
}

impl Running {
    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        let processes = self.proxy.processes()?.into_iter();
        processes.map(proc::cpu_time).sum()
    }

    /// Bytes that its processes have in memory.
    pub(crate) fn memory(&self) -> Result<u64> {
        let processes = self.proxy.processes()?.into_iter();
        processes.map(proc::resident_memory).sum()
    }
}

/// Waits until a process accepts connections there.
pub(crate) async fn wait_until_listening(addr: SocketAddr, process: &mut Process) -> Result<()> {
    let log = process.log().clone();
    let accepts = async || match process.check() {
        Ok(()) => TcpStream::connect(addr).await.ok().map(|_| Ok(())),
        Err(error) => Some(Err(error)),
    };
    let waited = wait::until("the proxy to accept connections", accepts).await;
    waited.with_context(|| log.tail())?.0
}
