//! HAProxy, with no more than the task asks for.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use sluice_tests::log::Log;
use sluice_tests::ports::Port;
use sluice_tests::process::{self, Process};
use sluice_tests::{proc, wait};
use tempfile::TempDir;

use super::Protocol;
use super::contender::{self, Proxy};
use super::site::Site;

pub(crate) struct Running {
    process: Process,
    folder: TempDir,
    plan: Plan,
}

struct Plan {
    http: Port,
    https: Port,
    protocol: Protocol,
    certificate: String,
}

impl Running {
    pub(crate) async fn start(site: &Site, protocol: Protocol) -> Result<Running> {
        let plan = Plan {
            http: Port::reserve()?,
            https: Port::reserve()?,
            protocol,
            certificate: site.certificate("pem").display().to_string(),
        };
        let folder = tempfile::Builder::new().prefix("haproxy-").tempdir()?;
        plan.write(folder.path(), site.pods(protocol))?;
        let mut command = Command::new(contender::haproxy_binary()?);
        // Beside it, where it was unpacked and not installed.
        let libraries = contender::packages().join("usr/lib");
        let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
        command.env("LD_LIBRARY_PATH", libraries.join(triple));
        command
            .arg("-W")
            .arg("-f")
            .arg(folder.path().join("haproxy.cfg"));
        let mut running = Running {
            process: Process::spawn(command)?,
            folder,
            plan,
        };
        contender::listens(running.http(), &mut running.process).await?;
        // Its master ignores signals until a moment after it has said this.
        let log = running.process.log().clone();
        let is_up = async || log.tail().contains("Loading success").then_some(());
        wait::until("HAProxy's master", is_up).await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        running.process.remember_children();
        Ok(running)
    }
}

impl Proxy for Running {
    fn http(&self) -> SocketAddr {
        self.plan.http.addr()
    }

    fn https(&self) -> SocketAddr {
        self.plan.https.addr()
    }

    fn processes(&self) -> Result<Vec<u32>> {
        Ok(proc::children(self.process.pid()))
    }

    fn log(&self) -> &Log {
        self.process.log()
    }

    /// A reload.
    async fn change(&mut self, pods: &[SocketAddr]) -> Result<()> {
        self.plan.write(self.folder.path(), pods)?;
        process::signal_by_name(self.process.pid(), "USR2")
    }
}

impl Plan {
    fn write(&self, folder: &Path, pods: &[SocketAddr]) -> Result<()> {
        let to_pods = match self.protocol {
            Protocol::Grpc => " proto h2",
            _ => "",
        };
        let alpn = match self.protocol {
            Protocol::Http2 | Protocol::Grpc => "h2",
            _ => "http/1.1",
        };
        let mut text = format!(
            "global\n  nbthread 1\n  maxconn 8192\n\
             defaults\n  mode http\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n  timeout tunnel 1h\n\
             frontend all\n  bind {}\n  bind {} ssl crt {} alpn {alpn}\n  default_backend pods\n\
             backend pods\n  balance roundrobin\n",
            self.http.addr(),
            self.https.addr(),
            self.certificate
        );
        for (n, pod) in pods.iter().enumerate() {
            writeln!(text, "  server pod-{n} {pod}{to_pods}")?;
        }
        fs::write(folder.join("haproxy.cfg"), text).context("write haproxy.cfg")
    }
}
