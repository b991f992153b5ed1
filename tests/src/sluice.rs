//! The controller, run as a user runs it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::net::{TcpStream, UnixStream};

use crate::apiserver::Cluster;
use crate::http::{self, Response};
use crate::log::Log;
use crate::manifests::Manifests;
use crate::ports::Port;
use crate::process::{self, Process};
use crate::run_dir::RunDir;
use crate::{artifacts, proc, wait};

/// How to start a controller.
pub struct Options {
    /// Where its objects come from, as it is told on the command line.
    source: Vec<String>,
    own_envoy: bool,
    data_plane: String,
    workers: usize,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    http: Option<SocketAddr>,
    https: Option<SocketAddr>,
    run_dir: Option<PathBuf>,
    envoy: Option<PathBuf>,
    xds: Option<String>,
    filter: Option<PathBuf>,
    nginx: Option<PathBuf>,
}

impl Options {
    /// On these manifests, with an Envoy as its child, on free ports.
    pub fn new(manifests: &Manifests) -> Options {
        Options::from_source(vec![
            "--manifests".to_owned(),
            manifests.dir().display().to_string(),
        ])
    }

    /// In this cluster, with an Envoy as its child, on free ports.
    pub fn in_cluster(cluster: &Cluster) -> Options {
        Options::from_source(cluster.arguments()).run_in(cluster.namespace())
    }

    /// In this cluster, for whatever is there, as a pod of a namespace.
    pub fn with_access_to(cluster: &Cluster, namespace: &str) -> Options {
        Options::from_source(cluster.access()).run_in(namespace)
    }

    fn run_in(self, namespace: &str) -> Options {
        self.environment("POD_NAMESPACE", namespace)
            .environment("POD_NAME", "sluice-0")
    }

    fn from_source(source: Vec<String>) -> Options {
        Options {
            source,
            own_envoy: true,
            data_plane: "envoy".to_owned(),
            workers: 1,
            arguments: Vec::new(),
            environment: Vec::new(),
            http: None,
            https: None,
            run_dir: None,
            envoy: None,
            xds: None,
            filter: None,
            nginx: None,
        }
    }

    /// A variable of its environment.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Options {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Without an Envoy: somebody else runs those.
    #[must_use]
    pub fn without_data_plane(mut self) -> Options {
        self.own_envoy = false;
        self
    }

    /// Another data plane than Envoy.
    #[must_use]
    pub fn data_plane(mut self, name: &str) -> Options {
        self.data_plane = name.to_owned();
        self
    }

    /// So many workers of the data plane, instead of one.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Options {
        self.workers = workers;
        self
    }

    /// More arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: Vec<String>) -> Options {
        self.arguments.extend(arguments);
        self
    }

    /// Serves HTTP here.
    #[must_use]
    pub fn http(mut self, addr: SocketAddr) -> Options {
        self.http = Some(addr);
        self
    }

    /// In the place of that one: the same ports and the same folder.
    #[must_use]
    pub fn after(mut self, predecessor: &Sluice) -> Options {
        (self.http, self.https) = (Some(predecessor.http), Some(predecessor.https));
        self.run_in_folder(predecessor.run_dir())
    }

    /// With this folder for sockets.
    #[must_use]
    pub fn run_in_folder(mut self, folder: &Path) -> Options {
        self.run_dir = Some(folder.to_owned());
        self
    }

    /// Serves xDS here: `unix:PATH` or an address.
    #[must_use]
    pub fn xds(mut self, address: impl Into<String>) -> Options {
        self.xds = Some(address.into());
        self
    }

    /// Runs this in the place of Envoy.
    #[must_use]
    pub fn envoy(mut self, binary: &Path) -> Options {
        self.envoy = Some(binary.to_owned());
        self
    }

    /// Runs this in the place of nginx.
    #[must_use]
    pub fn nginx(mut self, binary: &Path) -> Options {
        self.nginx = Some(binary.to_owned());
        self
    }

    /// Uses another build of the filter.
    #[must_use]
    pub fn filter(mut self, wasm: &Path) -> Options {
        self.filter = Some(wasm.to_owned());
        self
    }

    /// Starts the controller; with an Envoy of its own, waits until that serves.
    pub async fn start(self) -> Result<Sluice> {
        self.spawn()?.ready().await
    }

    /// Starts the controller and waits for nothing.
    pub fn spawn(self) -> Result<Sluice> {
        let ports: Vec<Port> = (0..3).map(|_| Port::reserve()).collect::<Result<_>>()?;
        let http = self.http.unwrap_or(ports[0].addr());
        let run_dir = RunDir::new(self.run_dir.as_deref())?;
        let in_run_dir = || format!("unix:{}", run_dir.path().join("controller.sock").display());
        let xds = self.xds.clone().unwrap_or_else(in_run_dir);
        let https = self
            .https
            .unwrap_or(SocketAddr::new(http.ip(), ports[1].number()));
        let mut command = self.command(http, https, &xds, run_dir.path())?;
        let health = ports[2].addr();
        command.arg("--healthz-host").arg(health.ip().to_string());
        command.arg("--healthz-port").arg(health.port().to_string());
        let process = Process::spawn(command)?;
        let own_envoy = self.own_envoy;
        Ok(Sluice {
            process,
            http,
            https,
            xds,
            own_envoy,
            health,
            _ports: ports,
            run_dir,
        })
    }

    fn command(
        &self,
        http: SocketAddr,
        https: SocketAddr,
        xds: &str,
        run_dir: &Path,
    ) -> Result<Command> {
        let mut command = Command::new(artifacts::sluice()?);
        command.arg("run").args(&self.source);
        command.arg("--bind-address").arg(http.ip().to_string());
        command.arg("--http-port").arg(http.port().to_string());
        command.arg("--https-port").arg(https.port().to_string());
        command.arg("--run-dir").arg(run_dir);
        if !self
            .arguments
            .iter()
            .any(|argument| argument == "--drain-timeout")
        {
            command.args(["--drain-timeout", "2"]);
        }
        let filter = self.filter.clone().map_or_else(artifacts::filter, Ok)?;
        command.arg("--filter-wasm").arg(filter);
        if self.own_envoy {
            command.args(["--data-plane", &self.data_plane]);
            self.programs(&mut command)?;
        } else {
            command.args(["--data-plane", "none", "--xds-address", xds]);
        }
        command
            .args(&self.arguments)
            .envs(self.environment.iter().cloned());
        Ok(command)
    }

    /// What the data plane is made of.
    fn programs(&self, command: &mut Command) -> Result<()> {
        if self.data_plane == "nginx" {
            command.arg("--nginx-workers").arg(self.workers.to_string());
            let nginx = self
                .nginx
                .clone()
                .map_or_else(artifacts::managed_nginx, Ok)?;
            command.arg("--nginx-binary").arg(nginx);
            if artifacts::ngx_wasm().is_some() {
                command.args(["--nginx-host", "kong"]);
                return Ok(());
            }
            command
                .arg("--nginx-module")
                .arg(artifacts::nginx_module()?);
            command
                .arg("--filter-cwasm")
                .arg(artifacts::compiled_filter()?);
        } else {
            command
                .arg("--envoy-concurrency")
                .arg(self.workers.to_string());
            command
                .arg("--envoy-binary")
                .arg(self.envoy.clone().map_or_else(artifacts::envoy, Ok)?);
        }
        Ok(())
    }
}

/// A running controller; it, and an Envoy that it started, end when this is dropped.
pub struct Sluice {
    process: Process,
    http: SocketAddr,
    https: SocketAddr,
    xds: String,
    own_envoy: bool,
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
        let line = format!("serving http on {}", self.http);
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
        let waited = wait::until("the controller to serve", serves).await;
        waited
            .with_context(|| format!("its log ends\n{}", log.tail()))?
            .0?;
        self.process.remember_children();
        Ok(self)
    }

    /// Where it (or the Envoys that it configures) serves HTTP.
    pub fn http(&self) -> SocketAddr {
        self.http
    }

    /// Where it serves HTTPS.
    pub fn https(&self) -> SocketAddr {
        self.https
    }

    /// Where it serves xDS: `unix:PATH` or an address.
    pub fn xds(&self) -> &str {
        &self.xds
    }

    /// Where it serves health and metrics.
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

    /// Kills it, and nobody else: SIGKILL, as the kernel does where memory is short.
    pub fn kill(&mut self) -> Result<()> {
        self.process.remember_children();
        self.process.kill().map(drop)
    }

    /// What it wrote, its Envoy's lines among them.
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
    let mut command = Command::new(artifacts::sluice()?);
    command.args(["bootstrap", "--node-id", node, "--xds-address", xds]);
    // `envoy::Envoy` puts the admin interface elsewhere.
    let output = command.args(["--admin-socket", "/nonexistent"]).output()?;
    ensure!(
        output.status.success(),
        "sluice bootstrap: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
