//! Jobs of the chart, as processes.

use std::process::Command;

use anyhow::{Result, ensure};

use super::Cluster;
use crate::artifacts;

impl Cluster {
    /// Makes certificates of a controller and of its data planes, in these Secrets.
    pub async fn certgen_xds(&self, host: &str, [controller, data_plane]: [&str; 2]) -> Result<()> {
        let mut command = Command::new(artifacts::sluice()?);
        command
            .arg("certgen")
            .arg("--kubeconfig")
            .arg(self.kubeconfig());
        command.args(["xds", "--host", host, "--namespace", self.namespace()]);
        command.args([
            "--controller-secret",
            controller,
            "--data-plane-secret",
            data_plane,
        ]);
        let done = tokio::task::spawn_blocking(move || command.output()).await??;
        let error = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "{error}");
        Ok(())
    }
}
