//! A proxy of the comparison: how it is called, found and started.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use sluice_tests::log::Log;
use sluice_tests::process::Process;
use sluice_tests::{artifacts, proc, wait};
use tokio::net::TcpStream;

use super::site::Site;
use super::{Protocol, caddy, envoy, haproxy, nginx, sluice};

/// A proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    SluiceOnNginx,
    /// As it is by default: Envoy balances where it does the same.
    SluiceOnEnvoy,
    /// The module chooses for each request.
    SluiceByModule,
    /// The filter as wasm chooses for each request, as in an Envoy that somebody else runs.
    SluiceByWasm,
    Nginx,
    Envoy,
    Haproxy,
    Caddy,
}

/// A contender that serves; it ends when this is dropped.
pub(crate) trait Proxy: Send {
    fn http(&self) -> SocketAddr;
    fn https(&self) -> SocketAddr;
    /// The processes that requests go through.
    fn processes(&self) -> Result<Vec<u32>>;
    fn log(&self) -> &Log;
    /// Tells it, in its own way, that other pods serve now; does not wait for the effect.
    fn change(&mut self, pods: &[SocketAddr]) -> impl Future<Output = Result<()>> + Send;
}

/// One of them, running.
pub(crate) enum Running {
    Sluice(Box<sluice::Running>),
    Nginx(nginx::Running),
    Envoy(envoy::Running),
    Haproxy(haproxy::Running),
    Caddy(caddy::Running),
}

macro_rules! of_each {
    ($running:expr, $it:ident => $value:expr) => {
        match $running {
            Running::Sluice($it) => $value,
            Running::Nginx($it) => $value,
            Running::Envoy($it) => $value,
            Running::Haproxy($it) => $value,
            Running::Caddy($it) => $value,
        }
    };
}

impl Contender {
    pub(crate) const ALL: [Contender; 8] = [
        Contender::SluiceOnNginx,
        Contender::SluiceOnEnvoy,
        Contender::SluiceByModule,
        Contender::SluiceByWasm,
        Contender::Nginx,
        Contender::Envoy,
        Contender::Haproxy,
        Contender::Caddy,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Contender::SluiceOnNginx => "sluice_on_nginx",
            Contender::SluiceOnEnvoy => "sluice_on_envoy",
            Contender::SluiceByModule => "sluice_on_envoy_by_module",
            Contender::SluiceByWasm => "sluice_on_envoy_by_wasm",
            Contender::Nginx => "nginx",
            Contender::Envoy => "envoy",
            Contender::Haproxy => "haproxy",
            Contender::Caddy => "caddy",
        }
    }

    /// As it stands in a table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Contender::SluiceOnNginx => "**Sluice on nginx**",
            Contender::SluiceOnEnvoy => "**Sluice on Envoy**",
            Contender::SluiceByModule => "**Sluice on Envoy**, by our module",
            Contender::SluiceByWasm => "**Sluice on Envoy**, by wasm",
            Contender::Nginx => "nginx, minimal",
            Contender::Envoy => "Envoy, minimal",
            Contender::Haproxy => "HAProxy, minimal",
            Contender::Caddy => "Caddy, minimal",
        }
    }

    pub(crate) async fn start(self, site: &Site, protocol: Protocol) -> Result<Running> {
        Ok(match self {
            Contender::Nginx => Running::Nginx(nginx::Running::start(site, protocol).await?),
            Contender::Envoy => Running::Envoy(envoy::Running::start(site, protocol).await?),
            Contender::Haproxy => Running::Haproxy(haproxy::Running::start(site, protocol).await?),
            Contender::Caddy => Running::Caddy(caddy::Running::start(site, protocol).await?),
            ours => {
                let running = sluice::Running::start(ours, site, protocol).await?;
                Running::Sluice(Box::new(running))
            }
        })
    }
}

impl Running {
    pub(crate) fn http(&self) -> SocketAddr {
        of_each!(self, it => it.http())
    }

    pub(crate) fn https(&self) -> SocketAddr {
        of_each!(self, it => it.https())
    }

    pub(crate) async fn change(&mut self, pods: &[SocketAddr]) -> Result<()> {
        of_each!(self, it => it.change(pods).await)
    }

    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        self.processes()?.into_iter().map(proc::cpu_time).sum()
    }

    /// The end of its log, for whoever reads an error.
    pub(crate) fn log(&self) -> String {
        of_each!(self, it => it.log()).tail()
    }

    /// Bytes that its processes have in memory.
    pub(crate) fn memory(&self) -> Result<u64> {
        let processes = self.processes()?.into_iter();
        processes.map(proc::resident_memory).sum()
    }

    fn processes(&self) -> Result<Vec<u32>> {
        of_each!(self, it => it.processes())
    }
}

/// Waits until a process accepts connections there.
pub(crate) async fn listens(addr: SocketAddr, process: &mut Process) -> Result<()> {
    let log = process.log().clone();
    let accepts = async || match process.check() {
        Ok(()) => TcpStream::connect(addr).await.ok().map(|_| Ok(())),
        Err(error) => Some(Err(error)),
    };
    let waited = wait::until("the proxy to accept connections", accepts).await;
    waited.with_context(|| log.tail())?.0
}

/// Those that this machine has; of others there are no rows.
pub(crate) fn present() -> Result<Vec<Contender>> {
    let mut all = Contender::ALL.to_vec();
    for (contender, found) in [
        (Contender::Haproxy, haproxy_binary()),
        (Contender::Caddy, caddy_binary()),
    ] {
        if found.is_err() {
            crate::report(&format!("  without {}: it is not here", contender.name()))?;
            all.retain(|it| *it != contender);
        }
    }
    Ok(all)
}

pub(crate) fn haproxy_binary() -> Result<PathBuf> {
    binary("HAPROXY_BINARY", "usr/sbin/haproxy")
}

pub(crate) fn caddy_binary() -> Result<PathBuf> {
    binary("CADDY_BINARY", "usr/bin/caddy")
}

/// Debian's packages, as `cargo xtask bench` has unpacked them.
pub(crate) fn packages() -> PathBuf {
    artifacts::target().join("peers")
}

fn binary(variable: &str, place: &str) -> Result<PathBuf> {
    let path = env::var_os(variable).map_or_else(|| packages().join(place), PathBuf::from);
    let found = Path::new(&path).is_file().then_some(path);
    found.with_context(|| format!("set {variable}"))
}
