//! The controller, run as a user runs it.

mod options;

pub use options::Options;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::net::{TcpStream, UnixStream};

use crate::http::{self, Response};
use crate::log::Log;
use crate::manifests::Manifests;
use crate::ports::Port;
use crate::process::{self, Process};
use crate::run_dir::RunDir;
use crate::{artifacts, proc, wait};

/// A running controller; it, and an Envoy that it started, end when this is dropped.
pub struct Sluice {
    process: Process,
    http: SocketAddr,
    https: SocketAddr,
    /// The first address that it says it serves http on.
    listens: SocketAddr,
    xds: String,
    own_envoy: bool,
    /// Of the wait until it serves.
    limit: Duration,
    health: SocketAddr,
    _ports: Vec<Port>,
    run_dir: RunDir,
}

impl Sluice {
    /// A controller with an Envoy of its own on free ports.
    pub async fn start(manifests: &Manifests) -> Result<Sluice> {
        Options::new(manifests).start().await
    }

    /// Waits until it serves, and its Envoy when it has one.
    pub async fn ready(mut self) -> Result<Sluice> {
        let (log, xds, own_envoy) = (self.process.log().clone(), self.xds.clone(), self.own_envoy);
        let line = format!("serving http on {}", self.listens);
        let process = &mut self.process;
        let serves = async || match process.check() {
            Ok(()) if own_envoy => log
                .lines()
                .iter()
                .any(|text| text.contains(&line))
                .then_some(Ok(())),
            Ok(()) => is_listening(&xds).await.then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        let waited = wait::until_within(self.limit, "the controller to serve", serves).await;
        waited
            .with_context(|| format!("its log ends\n{}", log.tail()))?
            .0?;
        self.process.remember_children();
        Ok(self)
    }

    /// The address of HTTP, of the controller's data plane or of the Envoys that it configures.
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// The address of HTTPS.
    pub fn https(&self) -> SocketAddr {
        self.https
    }

    /// The address of xDS: `unix:PATH` or an IP address with a port.
    pub fn xds(&self) -> &str {
        &self.xds
    }

    /// The address of health and metrics.
    pub fn health(&self) -> SocketAddr {
        self.health
    }

    /// Its folder for sockets.
    pub fn run_dir(&self) -> &Path {
        self.run_dir.path()
    }

    /// The socket that it answers `sluice dbg` on.
    pub fn admin_socket(&self) -> PathBuf {
        self.run_dir.path().join("admin.sock")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The process id of the Envoy that it runs.
    pub fn envoy_pid(&self) -> Option<u32> {
        let mut children = proc::children(self.pid()).into_iter();
        children.find(|pid| proc::name(*pid).is_some_and(|name| name.contains("envoy")))
    }

    /// The process id of its data plane, an Envoy or an nginx, whoever has started that.
    pub fn data_plane_pid(&self) -> Option<u32> {
        let records = ["envoy.json", "nginx/nginx.json"].map(|file| self.run_dir().join(file));
        let record = records.iter().find_map(|file| fs::read(file).ok())?;
        let record: Value = serde_json::from_slice(&record).ok()?;
        let pid = u32::try_from(record["pid"].as_u64()?).ok()?;
        proc::is_running(pid).then_some(pid)
    }

    /// The worker processes of its nginx; an Envoy has none.
    pub fn workers(&self) -> Vec<u32> {
        self.data_plane_pid()
            .map(proc::children)
            .unwrap_or_default()
    }

    /// Waits until none of these workers answers: a reload leaves them for a moment.
    pub async fn wait_for_end_of(&self, workers: &[u32]) -> Result<()> {
        let ended = async || {
            let left = self.workers();
            workers.iter().all(|it| !left.contains(it)).then_some(())
        };
        wait::until("the workers of before to end", ended)
            .await
            .map(drop)
            .with_context(|| format!("the log ends\n{}", self.log().tail()))
    }

    /// Kills it, and nobody else: SIGKILL, as the kernel does where memory is short.
    pub fn kill(&mut self) -> Result<()> {
        self.process.remember_children();
        self.process.kill().map(drop)
    }

    /// Its output, with its Envoy's lines.
    pub fn log(&self) -> &Log {
        self.process.log()
    }

    /// GETs a page through Envoy.
    pub async fn get(&self, host: &str, target: &str) -> Result<Response> {
        let response = http::get(self.http, host, target).await;
        response.with_context(|| format!("the log ends\n{}", self.log().tail()))
    }

    /// Waits until a page has this status.
    pub async fn wait_for_status(&self, host: &str, target: &str, status: u16) -> Result<Response> {
        wait_for_status(self.http, host, target, status)
            .await
            .with_context(|| format!("the log ends\n{}", self.log().tail()))
    }

    /// Sends a signal, named as in `SIGTERM`.
    pub fn signal(&self, name: &str) -> Result<()> {
        process::signal_by_name(self.pid(), name)
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> Result<()> {
        let process = &mut self.process;
        let ended = async || process.check().is_err().then_some(());
        wait::until("the controller to end", ended).await.map(drop)
    }

    /// Waits until it has ended by itself, and says how.
    pub async fn exit_status(mut self) -> Result<ExitStatus> {
        self.ended().await?;
        self.process.stop()
    }

    /// Waits until a pod answers.
    pub async fn wait_for_pod(&self, host: &str, pod: &str) -> Result<Response> {
        let answers = async || {
            self.get(host, "/")
                .await
                .ok()
                .filter(|page| page.pod() == Some(pod))
        };
        let waited = wait::until(&format!("{pod} to answer for {host}"), answers).await;
        Ok(waited
            .with_context(|| format!("the log ends\n{}", self.log().tail()))?
            .0)
    }

    /// Stops it in an orderly way.
    pub fn stop(mut self) -> Result<()> {
        let status = self.process.stop()?;
        ensure!(
            status.success(),
            "the controller ended with {status}; its log ends\n{}",
            self.log().tail()
        );
        Ok(())
    }
}

async fn is_listening(address: &str) -> bool {
    match address.strip_prefix("unix:") {
        Some(path) => UnixStream::connect(path).await.is_ok(),
        None => TcpStream::connect(address).await.is_ok(),
    }
}

/// Waits until a page has this status.
pub async fn wait_for_status(
    addr: SocketAddr,
    host: &str,
    target: &str,
    status: u16,
) -> Result<Response> {
    let page = async || {
        http::get(addr, host, target)
            .await
            .ok()
            .filter(|page| page.status == status)
    };
    Ok(
        wait::until(&format!("http://{host}{target} to answer {status}"), page)
            .await?
            .0,
    )
}

/// The bootstrap that the controller gives to an Envoy which somebody else runs; `node` tells one from another.
pub fn bootstrap(xds: &str, node: &str) -> Result<String> {
    bootstrap_with(xds, node, &[])
}

/// The same with more arguments.
pub fn bootstrap_with(xds: &str, node: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(artifacts::sluice()?);
    command.args(["bootstrap", "--node-id", node, "--xds-address", xds]);
    command.args(arguments);
    // `envoy::Envoy` puts the admin interface elsewhere.
    let output = command.args(["--admin-socket", "/nonexistent"]).output()?;
    ensure!(
        output.status.success(),
        "sluice bootstrap: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
