//! How a controller is started.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::Sluice;
use crate::apiserver::Cluster;
use crate::artifacts;
use crate::manifests::Manifests;
use crate::ports::Port;
use crate::process::Process;
use crate::run_dir::RunDir;
use crate::wait;

/// How to start a controller.
pub struct Options {
    /// Arguments for the source of objects.
    source: Vec<String>,
    own_envoy: bool,
    limit: Duration,
    data_plane: String,
    workers: usize,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    http: Option<SocketAddr>,
    https: Option<SocketAddr>,
    on_all_addresses: bool,
    run_dir: Option<PathBuf>,
    envoy: Option<PathBuf>,
    xds: Option<String>,
    filter: Option<PathBuf>,
    nginx: Option<PathBuf>,
    output: Option<File>,
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
            limit: wait::LIMIT,
            data_plane: "envoy".to_owned(),
            workers: 1,
            arguments: Vec::new(),
            environment: Vec::new(),
            http: None,
            https: None,
            on_all_addresses: false,
            run_dir: None,
            envoy: None,
            xds: None,
            filter: None,
            nginx: None,
            output: None,
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

    /// With so much time until it serves: for what is larger than usual.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Options {
        self.limit = limit;
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

    /// Listens as it does without `--bind-address`: on the ports as ever, of all addresses that it finds.
    #[must_use]
    pub fn on_all_addresses(mut self) -> Options {
        self.on_all_addresses = true;
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

    /// With standard output in this file instead of the log.
    #[must_use]
    pub fn output(mut self, file: File) -> Options {
        self.output = Some(file);
        self
    }

    /// Starts the controller; with an Envoy of its own, waits until that serves.
    pub async fn start(self) -> Result<Sluice> {
        self.spawn()?.ready().await
    }

    /// Starts the controller and waits for nothing.
    pub fn spawn(mut self) -> Result<Sluice> {
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
        let process = Process::spawn_with_output(command, self.output.take())?;
        let (own_envoy, limit) = (self.own_envoy, self.limit);
        let on_all = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), http.port());
        let listens = if self.on_all_addresses { on_all } else { http };
        Ok(Sluice {
            process,
            http,
            https,
            listens,
            xds,
            own_envoy,
            limit,
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
        if !self.on_all_addresses {
            command.arg("--bind-address").arg(http.ip().to_string());
        }
        command.arg("--http-port").arg(http.port().to_string());
        command.arg("--https-port").arg(https.port().to_string());
        command.arg("--run-dir").arg(run_dir);
        // Of flags that stand twice, the last one counts.
        command.args(["--access-log=false", "--post-shutdown-grace-period=0"]);
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

    /// Adds the paths of the data plane's programs.
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
            if artifacts::is_wasm_asked_for() {
                command.args(["--nginx-filter", "wasm", "--filter-cwasm"]);
                command.arg(artifacts::compiled_filter()?);
            }
        } else {
            command
                .arg("--envoy-concurrency")
                .arg(self.workers.to_string());
            // A filter of the test itself is wasm.
            if self.filter.is_some() || artifacts::is_wasm_asked_for() {
                command.args(["--envoy-filter", "wasm"]);
            } else {
                command
                    .arg("--envoy-module")
                    .arg(artifacts::envoy_module()?);
            }
            command
                .arg("--envoy-binary")
                .arg(self.envoy.clone().map_or_else(artifacts::envoy, Ok)?);
        }
        Ok(())
    }
}
