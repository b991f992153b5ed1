//! Envoy as a child process, and its admin socket.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sluice_xds::{BootstrapSettings, ControllerAddress, bootstrap};
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};

use crate::http::{Answer, exchange};
use crate::http2;

pub(crate) struct Envoy {
    child: Child,
    http: SocketAddr,
    folder: TempDir,
}

impl Envoy {
    pub(crate) fn start(binary: &Path, controller: &Path, http: SocketAddr) -> Envoy {
        let folder = tempfile::tempdir().unwrap();
        let settings = BootstrapSettings {
            zone: None,
            node_id: "real".to_owned(),
            admin_socket: folder.path().join("admin.sock"),
            controller: ControllerAddress::Unix(controller.to_owned()),
            filter: sluice_xds::FilterForm::Wasm,
            max_connections: None,
            memory: Some(1 << 30),
        };
        let config = folder.path().join("bootstrap.json");
        std::fs::write(&config, bootstrap(&settings).to_string()).unwrap();
        let command = || {
            let mut command = Command::new(binary);
            command.arg("--config-path").arg(&config).args([
                "--disable-hot-restart",
                "--concurrency",
                "1",
            ]);
            command
        };
        let valid = command().args(["--mode", "validate"]).output().unwrap();
        assert!(
            valid.status.success(),
            "{}",
            String::from_utf8_lossy(&valid.stderr)
        );
        let log = std::fs::File::create(log_file(&folder)).unwrap();
        let level = std::env::var("ENVOY_LOG_LEVEL").unwrap_or_else(|_| "warning".to_owned());
        let child = command()
            .args(["--log-level", &level])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Envoy {
            child,
            http,
            folder,
        }
    }

    pub(crate) async fn get(&self, host: &str, path: &str) -> Answer {
        self.send(host, path, "").await
    }

    pub(crate) async fn send(&self, host: &str, path: &str, headers: &str) -> Answer {
        match TcpStream::connect(self.http).await {
            Ok(stream) => exchange(stream, host, path, headers).await,
            Err(_) => Answer::default(),
        }
    }

    pub(crate) async fn send_http2(&self, headers: &[(&str, &str)], done: &str) -> String {
        match TcpStream::connect(self.http).await {
            Ok(stream) => http2::exchange(stream, headers, done).await,
            Err(_) => String::new(),
        }
    }

    pub(crate) async fn admin(&self, path: &str) -> Answer {
        match UnixStream::connect(self.folder.path().join("admin.sock")).await {
            Ok(stream) => exchange(stream, "admin", path, "").await,
            Err(_) => Answer::default(),
        }
    }
}

fn log_file(folder: &TempDir) -> PathBuf {
    folder.path().join("envoy.log")
}

impl Drop for Envoy {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(log_file(&self.folder)).unwrap_or_default();
            std::fs::write(std::env::temp_dir().join("sluice-xds-envoy.log"), log).ok();
        }
    }
}
