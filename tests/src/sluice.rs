//! The controller, run as a user runs it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::apiserver::Cluster;
use crate::http::{self, Response};
use crate::log::Log;
use crate::manifests::Manifests;
use crate::ports::Port;
use crate::process::{self, Process};
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
    xds: Option<SocketAddr>,
    filter: Option<PathBuf>,
    nginx: Option<PathBuf>,
}

impl Options {
    /// On these manifests, with an Envoy as its child, on free ports.
    pub fn new(manifests: &Manifests) -> Options {
        Options::from_source(vec!["--manifests".to_owned(), manifests.dir().display().to_string()])
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
        self.environment("POD_NAMESPACE", namespace).environment("POD_NAME", "sluice-0")
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

    /// Serves xDS here.
    #[must_use]
    pub fn xds(mut self, addr: SocketAddr) -> Options {
        self.xds = Some(addr);
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
        let ports: Vec<Port> = (0..5).map(|_| Port::reserve()).collect::<Result<_>>()?;
        let http = self.http.unwrap_or(ports[0].addr());
        let xds = self.xds.unwrap_or(ports[1].addr());
        let run_dir = tempfile::Builder::new().prefix("sluice-run-").tempdir()?;
        let https = SocketAddr::new(http.ip(), ports[2].number());
        let mut command = self.command(http, https, xds, run_dir.path())?;
        let health = ports[3].addr();
        command.arg("--healthz-host").arg(health.ip().to_string());
        command.arg("--healthz-port").arg(health.port().to_string());
        let status = ports[4].addr();
        command.arg("--status-port").arg(status.port().to_string());
        let process = Process::spawn(command)?;
        let own_envoy = self.own_envoy;
        Ok(Sluice { process, http, https, xds, own_envoy, health, status, _ports: ports, run_dir })
    }

    fn command(
        &self,
        http: SocketAddr,
        https: SocketAddr,
        xds: SocketAddr,
        run_dir: &Path,
    ) -> Result<Command> {
        let mut command = Command::new(artifacts::sluice()?);
        command.arg("run").args(&self.source);
        command.arg("--bind-address").arg(http.ip().to_string());
        command.arg("--http-port").arg(http.port().to_string());
        command.arg("--https-port").arg(https.port().to_string());
        command.arg("--xds-address").arg(xds.to_string());
        command.arg("--run-dir").arg(run_dir);
        if !self.arguments.iter().any(|argument| argument == "--drain-timeout") {
            command.args(["--drain-timeout", "2"]);
        }
        let filter = self.filter.clone().map_or_else(artifacts::filter, Ok)?;
        command.arg("--filter-wasm").arg(filter);
        if self.own_envoy {
            command.args(["--data-plane", &self.data_plane]);
            self.programs(&mut command)?;
        } else {
            command.args(["--data-plane", "none"]);
        }
        command.args(&self.arguments).envs(self.environment.iter().cloned());
        Ok(command)
    }

    /// What the data plane is made of.
    fn programs(&self, command: &mut Command) -> Result<()> {
        if self.data_plane == "nginx" {
            command.arg("--nginx-workers").arg(self.workers.to_string());
            let nginx = self.nginx.clone().map_or_else(artifacts::managed_nginx, Ok)?;
            command.arg("--nginx-binary").arg(nginx);
            if artifacts::ngx_wasm().is_some() {
                command.args(["--nginx-host", "kong"]);
                return Ok(());
            }
            command.arg("--nginx-module").arg(artifacts::nginx_module()?);
            command.arg("--filter-cwasm").arg(artifacts::compiled_filter()?);
        } else {
            command.arg("--envoy-concurrency").arg(self.workers.to_string());
            command.arg("--envoy-binary").arg(artifacts::envoy()?);
        }
        Ok(())
    }
}

/// A running controller; it, and an Envoy that it started, end when this is dropped.
pub struct Sluice {
    process: Process,
    http: SocketAddr,
    https: SocketAddr,
    xds: SocketAddr,
    own_envoy: bool,
    health: SocketAddr,
    status: SocketAddr,
    _ports: Vec<Port>,
    run_dir: TempDir,
}

impl Sluice {
    /// A controller with an Envoy of its own on free ports.
    pub async fn start(manifests: &Manifests) -> Result<Sluice> {
        Options::new(manifests).start().await
    }

    /// Waits until it serves, and its Envoy when it has one.
    pub async fn ready(mut self) -> Result<Sluice> {
        let (log, xds, own_envoy) = (self.process.log().clone(), self.xds, self.own_envoy);
        let line = format!("serving http on {}", self.http);
        let process = &mut self.process;
        let serves = async || match process.check() {
            Ok(()) if own_envoy => log.lines().iter().any(|text| text.contains(&line)).then_some(Ok(())),
            Ok(()) => TcpStream::connect(xds).await.is_ok().then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        let waited = wait::until("the controller to serve", serves).await;
        waited.with_context(|| format!("its log ends\n{}", log.tail()))?.0?;
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

    /// Where it serves xDS.
    pub fn xds(&self) -> SocketAddr {
        self.xds
    }

    /// Where it serves health and metrics.
    pub fn health(&self) -> SocketAddr {
        self.health
    }

    /// Where it answers `sluice dbg`.
    pub fn status(&self) -> SocketAddr {
        self.status
    }

    /// Its folder for sockets.
    pub fn run_dir(&self) -> &Path {
        self.run_dir.path()
    }

    /// The socket of what changes something.
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
        let answers = async || self.get(host, "/").await.ok().filter(|page| page.pod() == Some(pod));
        let waited = wait::until(&format!("{pod} to answer for {host}"), answers).await;
        Ok(waited.with_context(|| format!("the log ends\n{}", self.log().tail()))?.0)
    }

    /// Stops it in an orderly way.
    pub fn stop(mut self) -> Result<()> {
        let status = self.process.stop()?;
        ensure!(status.success(), "the controller ended with {status}; its log ends\n{}", self.log().tail());
        Ok(())
    }
}

/// Waits until a page has this status.
pub async fn wait_for_status(addr: SocketAddr, host: &str, target: &str, status: u16) -> Result<Response> {
    let page = async || http::get(addr, host, target).await.ok().filter(|page| page.status == status);
    Ok(wait::until(&format!("http://{host}{target} to answer {status}"), page).await?.0)
}

/// The bootstrap that the controller gives to an Envoy which somebody else runs; `node` tells one from another.
pub fn bootstrap(xds: SocketAddr, node: &str) -> Result<String> {
    let mut command = Command::new(artifacts::sluice()?);
    command.args(["bootstrap", "--node-id", node, "--xds-address", &xds.to_string()]);
    // `envoy::Envoy` puts the admin interface elsewhere.
    let output = command.args(["--admin-socket", "/nonexistent"]).output()?;
    ensure!(output.status.success(), "sluice bootstrap: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
