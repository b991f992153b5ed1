//! `sluice envoy`, as a pod of the data plane runs it: an Envoy whose controller is elsewhere.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use serde_json::Value;
use tempfile::TempDir;

use crate::http::{self, Response};
use crate::log::Log;
use crate::ports::Port;
use crate::process::Process;
use crate::{artifacts, wait};

/// The name in the controller's certificate.
pub const CONTROLLER: &str = "sluice.sluice-system.svc";

/// A CA for the connection between controller and data planes.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A folder with `tls.crt`, `tls.key` and `ca.crt`, as a mounted Secret; gone when dropped.
pub struct Identity {
    folder: TempDir,
}

impl Authority {
    /// A fresh one.
    pub fn new() -> Result<Authority> {
        let mut params = named("authority", Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Authority {
            issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)?,
        })
    }

    /// A certificate with this name, and this CA as the one to believe.
    pub fn identity(&self, name: &str) -> Result<Identity> {
        let identity = Identity {
            folder: tempfile::Builder::new()
                .prefix("sluice-identity-")
                .tempdir()?,
        };
        self.renew(&identity, name)?;
        Ok(identity)
    }

    /// Replaces the certificate of an identity, and its CA by this one. Each file changes by a rename.
    pub fn renew(&self, identity: &Identity, name: &str) -> Result<()> {
        let key = KeyPair::generate()?;
        let certificate = named(name, vec![name.to_owned()])?.signed_by(&key, &self.issuer)?;
        for (file, text) in [
            ("tls.key", key.serialize_pem()),
            ("tls.crt", certificate.pem()),
            ("ca.crt", self.issuer.pem()),
        ] {
            let staged = identity.folder().join(format!(".{file}"));
            fs::write(&staged, text)?;
            fs::rename(&staged, identity.folder().join(file))?;
        }
        Ok(())
    }
}

/// A certificate whose subject is its issuer's counts as signed by itself.
fn named(name: &str, names: Vec<String>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

impl Identity {
    /// That of a Secret, as a mount has it.
    pub fn from_secret(secret: &Value) -> Result<Identity> {
        let folder = tempfile::Builder::new()
            .prefix("sluice-identity-")
            .tempdir()?;
        for file in ["tls.key", "tls.crt", "ca.crt"] {
            let data = secret["data"][file].as_str().context(file)?;
            fs::write(folder.path().join(file), BASE64_STANDARD.decode(data)?)?;
        }
        Ok(Identity { folder })
    }

    /// The run folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn programs(command: &mut Command) -> Result<()> {
    command
        .arg("--envoy-binary")
        .arg(artifacts::envoy()?)
        .args(["--envoy-concurrency", "1"]);
    if artifacts::is_wasm_asked_for() {
        command.args(["--envoy-filter", "wasm"]);
    } else {
        command
            .arg("--envoy-module")
            .arg(artifacts::envoy_module()?);
    }
    Ok(())
}

/// A running data plane; it and its Envoy end when this is dropped.
pub struct DataPlane {
    process: Process,
    health: Port,
    _run_dir: TempDir,
}

impl DataPlane {
    /// Starts one; it may not be ready yet.
    pub async fn start(xds: SocketAddr, identity: &Identity) -> Result<DataPlane> {
        DataPlane::start_with(xds, identity, &[]).await
    }

    /// The same with more arguments.
    pub async fn start_with(
        xds: SocketAddr,
        identity: &Identity,
        arguments: &[&str],
    ) -> Result<DataPlane> {
        let health = Port::reserve()?;
        let run_dir = tempfile::Builder::new()
            .prefix("sluice-data-plane-")
            .tempdir()?;
        let mut command = Command::new(artifacts::sluice()?);
        // By name, as in a cluster.
        let xds = format!("localhost:{}", xds.port());
        command.args([
            "envoy",
            "--xds-address",
            &xds,
            "--xds-server-name",
            CONTROLLER,
        ]);
        command.arg("--xds-certificates").arg(identity.folder());
        programs(&mut command)?;
        command.arg("--run-dir").arg(run_dir.path());
        command.args([
            "--healthz-host",
            "127.0.0.1",
            "--healthz-port",
            &health.number().to_string(),
        ]);
        command.args(["--shutdown-grace-period", "1", "--drain-timeout", "5"]);
        command.args(["--post-shutdown-grace-period", "0"]);
        command
            .args(arguments)
            .env("POD_NAMESPACE", "sluice-system");
        let process = Process::spawn(command)?;
        let mut data_plane = DataPlane {
            process,
            health,
            _run_dir: run_dir,
        };
        let healthy = async || {
            data_plane
                .page("/healthz")
                .await
                .ok()
                .filter(|page| page.status == 200)
        };
        wait::until("the data plane to live", healthy)
            .await
            .with_context(|| data_plane.log().tail())?;
        data_plane.process.remember_children();
        Ok(data_plane)
    }

    /// The address of its health port.
    pub fn health(&self) -> SocketAddr {
        self.health.addr()
    }

    /// A page of its health port.
    pub async fn page(&self, path: &str) -> Result<Response> {
        http::get(self.health.addr(), "health", path).await
    }

    /// Waits until it serves.
    pub async fn ready(&self) -> Result<()> {
        let ready = async || {
            self.page("/readyz")
                .await
                .ok()
                .filter(|page| page.status == 200)
        };
        let waited = wait::until("the data plane to be ready", ready).await;
        waited.map(drop).with_context(|| self.log().tail())
    }

    /// Its output.
    pub fn log(&self) -> &Log {
        self.process.log()
    }

    /// Tells it to stop, as the kubelet does.
    pub fn terminate(&self) {
        self.process.terminate();
    }

    /// Stops it in an orderly way.
    pub fn stop(mut self) -> Result<()> {
        let status = self.process.stop()?;
        ensure!(
            status.success(),
            "the data plane ended with {status}; its log ends\n{}",
            self.log().tail()
        );
        Ok(())
    }
}
