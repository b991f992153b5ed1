//! HAProxy, with no more than the task asks for.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use sluice_tests::log::Log;
use sluice_tests::process::{self, Process};
use sluice_tests::{proc, wait};
use tempfile::TempDir;

use super::Protocol;
use super::packages::{Package, libraries};
use super::plan::Plan;
use super::proxy::{Changed, Proxy, Running, wait_until_listening};
use super::site::Site;

pub(crate) const PACKAGE: Package = Package {
    variable: "HAPROXY_BINARY",
    path: "usr/sbin/haproxy",
};

struct Haproxy {
    process: Process,
    folder: TempDir,
    plan: Plan,
}

pub(crate) async fn start(plan: Plan, site: &Site) -> Result<Running> {
    let folder = tempfile::Builder::new().prefix("haproxy-").tempdir()?;
    write(&plan, folder.path(), site.pods(plan.protocol))?;
    let mut command = Command::new(PACKAGE.program().context("haproxy")?);
    command.env("LD_LIBRARY_PATH", libraries());
    command
        .args(["-W", "-f"])
        .arg(folder.path().join("haproxy.cfg"));
    let mut process = Process::spawn(command)?;
    wait_until_listening(plan.http(), &mut process).await?;
    // Its master ignores signals until a moment after it has said this.
    let log = process.log().clone();
    let is_up = async || log.tail().contains("Loading success").then_some(());
    wait::until("HAProxy's master", is_up).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    process.remember_children();
    Ok(Running {
        http: plan.http(),
        https: plan.https(),
        proxy: Box::new(Haproxy {
            process,
            folder,
            plan,
        }),
    })
}

impl Proxy for Haproxy {
    fn processes(&self) -> Result<Vec<u32>> {
        Ok(proc::children(self.process.pid()))
    }

    fn log(&self) -> &Log {
        self.process.log()
    }

    /// A reload.
    fn change<'a>(&'a mut self, pods: &'a [SocketAddr]) -> Changed<'a> {
        Box::pin(async {
            write(&self.plan, self.folder.path(), pods)?;
            process::signal_by_name(self.process.pid(), "USR2")
        })
    }
}

fn write(plan: &Plan, folder: &Path, pods: &[SocketAddr]) -> Result<()> {
    let to_pods = match plan.protocol {
        Protocol::Grpc => " proto h2",
        _ => "",
    };
    let mut text = format!(
        "global\n  nbthread 1\n  maxconn 8192\n\
         defaults\n  mode http\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n  timeout tunnel 1h\n\
         frontend all\n  bind {}\n  bind {} ssl crt {} alpn {}\n  default_backend pods\n\
         backend pods\n  balance roundrobin\n",
        plan.http(),
        plan.https(),
        plan.certificate("pem"),
        plan.protocol.alpn(),
    );
    for (n, pod) in pods.iter().enumerate() {
        writeln!(text, "  server pod-{n} {pod}{to_pods}")?;
    }
    fs::write(folder.join("haproxy.cfg"), text).context("write haproxy.cfg")
}
