//! An Envoy of the test's own, for what a test must be able to keep while the controller goes.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::log::Log;
use crate::process::Process;
use crate::{artifacts, http, proc, wait};

/// Whatever the bootstrap says: on loopback, on a port that the kernel chooses and Envoy writes to a file.
const ADMIN: &str = "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}";

/// A running Envoy; it ends when this is dropped.
pub struct Envoy {
    process: Process,
    admin: SocketAddr,
    _run_dir: TempDir,
}

impl Envoy {
    /// Starts Envoy and waits until its admin interface answers. It may have no listeners yet.
    pub async fn start(bootstrap: &str) -> Result<Envoy> {
        let run_dir = tempfile::Builder::new().prefix("sluice-envoy-").tempdir()?;
        let (config, admin) = (
            run_dir.path().join("bootstrap.yaml"),
            run_dir.path().join("admin"),
        );
        fs::write(&config, bootstrap)?;
        let mut command = Command::new(artifacts::envoy()?);
        command
            .arg("--config-path")
            .arg(&config)
            .arg("--admin-address-path")
            .arg(&admin);
        command.args([
            "--config-yaml",
            ADMIN,
            "--concurrency",
            "1",
            "--disable-hot-restart",
        ]);
        command.args(["--drain-time-s", "1", "--log-level", "warning"]);
        // Only where the bootstrap asks for the module it must be there.
        if let Some(folder) = artifacts::envoy_module()
            .ok()
            .as_deref()
            .and_then(Path::parent)
        {
            command.env("ENVOY_DYNAMIC_MODULES_SEARCH_PATH", folder);
        }
        let mut process = Process::spawn(command)?;
        let admin = admin_address(&mut process, &admin).await?;
        Ok(Envoy {
            process,
            admin,
            _run_dir: run_dir,
        })
    }

    /// Waits until all of the configuration that it asked for is there.
    pub async fn ready(&mut self) -> Result<()> {
        let admin = self.admin;
        let ready = async || {
            http::get(admin, "admin", "/ready")
                .await
                .ok()
                .filter(|page| page.status == 200)
        };
        wait::until("Envoy to be ready", ready)
            .await
            .with_context(|| self.process.log().tail())?;
        self.process.check()
    }

    /// A counter or gauge; 0 while Envoy does not know it.
    pub async fn stat(&self, name: &str) -> Result<u64> {
        let page = http::get(self.admin, "admin", &format!("/stats?filter=^{name}$"))
            .await?
            .text();
        let value = page
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok());
        Ok(value.unwrap_or(0))
    }

    /// Connections that its listeners, but the admin interface's, accepted so far.
    pub async fn connections(&self) -> Result<u64> {
        let page = http::get(
            self.admin,
            "admin",
            "/stats?filter=^listener.*downstream_cx_total$",
        )
        .await?
        .text();
        // Each listener is counted once as a whole and once per worker.
        let whole = page
            .lines()
            .filter(|line| !line.contains("admin") && !line.contains("worker_"));
        Ok(whole
            .filter_map(|line| line.rsplit_once(": ")?.1.parse::<u64>().ok())
            .sum())
    }

    /// A page of the admin interface.
    pub async fn admin(&self, path: &str) -> Result<String> {
        Ok(http::get(self.admin, "admin", path).await?.text())
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its output.
    pub fn log(&self) -> &Log {
        self.process.log()
    }

    /// CPU time of all its threads so far.
    pub fn cpu_time(&self) -> Result<Duration> {
        proc::cpu_time(self.pid())
    }

    /// Stops it.
    pub fn stop(mut self) -> Result<()> {
        self.process.stop().map(drop)
    }
}

async fn admin_address(process: &mut Process, file: &Path) -> Result<SocketAddr> {
    let address = async || match process.check() {
        Ok(()) => fs::read_to_string(file).ok()?.trim().parse().ok().map(Ok),
        // Envoy that refuses its bootstrap ends at once; there is no point in waiting on.
        Err(error) => Some(Err(error)),
    };
    wait::until("Envoy's admin address", address).await?.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_envoy_starts_becomes_ready_and_stops() {
        let mut envoy = Envoy::start("{}").await.unwrap();
        envoy.ready().await.unwrap();
        assert_eq!(envoy.stat("server.live").await.unwrap(), 1);
        assert!(envoy.cpu_time().unwrap() > Duration::ZERO);
        let pid = envoy.pid();
        envoy.stop().unwrap();
        assert!(!proc::is_running(pid));
    }

    #[tokio::test]
    async fn a_bootstrap_that_envoy_refuses_is_an_error_with_its_words() {
        let error = Envoy::start("{nonsense: 1}").await.err().unwrap();
        assert!(format!("{error:#}").contains("nonsense"), "{error:#}");
    }
}
