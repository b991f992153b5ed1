//! The API server behind the gate: our fake, or one that somebody else runs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::{fmt, fs};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::fake::{FAKE_VERSION, Fake};
use crate::http::{self, Request};
use crate::ports::Port;
use crate::process::Process;

pub(super) enum Upstream {
    Fake(Fake),
    Real {
        addr: SocketAddr,
        /// Its `/version`; behind a kubeconfig of ours it is a fake that another process started.
        version: String,
        /// `kubectl proxy`, which has the credentials, where there are any.
        _proxy: Option<(Process, Port)>,
    },
}

impl Upstream {
    /// The one that `KUBECONFIG` names; `None` when it names none.
    pub(super) async fn of_kubeconfig() -> Result<Option<Upstream>> {
        let Some(path) = std::env::var_os("KUBECONFIG") else {
            return Ok(None);
        };
        // Without TLS nobody asks for credentials either.
        let (addr, proxy) = match plain_address(Path::new(&path)) {
            Some(addr) => (addr, None),
            None => kubectl_proxy()
                .await
                .map(|(process, port)| (port.addr(), Some((process, port))))?,
        };
        let version = version(addr).await?;
        Ok(Some(Upstream::Real {
            addr,
            version,
            _proxy: proxy,
        }))
    }

    pub(super) fn addr(&self) -> SocketAddr {
        match self {
            Upstream::Fake(fake) => fake.addr(),
            Upstream::Real { addr, .. } => *addr,
        }
    }

    /// Returns `true` if an endpoint may have a loopback address.
    pub(super) fn takes_loopback(&self) -> bool {
        match self {
            Upstream::Fake(_) => true,
            Upstream::Real { version, .. } => version == FAKE_VERSION,
        }
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Upstream::Fake(_) => to.write_str("the fake API server"),
            Upstream::Real { version, .. } => {
                write!(to, "the API server that KUBECONFIG names ({version})")
            }
        }
    }
}

async fn kubectl_proxy() -> Result<(Process, Port)> {
    let port = Port::reserve()?;
    let mut command = Command::new("kubectl");
    command.args([
        "proxy",
        "--address=127.0.0.1",
        &format!("--port={}", port.number()),
    ]);
    let proxy =
        Process::spawn(command).context("KUBECONFIG is set, so kubectl must be installed")?;
    proxy.log().wait_for("Starting to serve").await?;
    Ok((proxy, port))
}

/// Asks the API server for its version.
async fn version(addr: SocketAddr) -> Result<String> {
    let answer = http::send(addr, &Request::get("localhost", "/version")).await?;
    ensure!(answer.status == 200, "/version: {}", answer.text());
    Ok(answer.json()?["gitVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

/// The server of a kubeconfig with one cluster, if it is an address without TLS, as ours are.
fn plain_address(kubeconfig: &Path) -> Option<SocketAddr> {
    let config: Value = serde_json::from_slice(&fs::read(kubeconfig).ok()?).ok()?;
    config
        .pointer("/clusters/0/cluster/server")?
        .as_str()?
        .strip_prefix("http://")?
        .parse()
        .ok()
}

/// The address that this machine would use towards others; nothing is sent.
pub(super) fn own_address() -> Result<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket
        .connect((Ipv4Addr::new(192, 0, 2, 1), 9))
        .context("a real cluster needs an address besides loopback")?;
    Ok(socket.local_addr()?.ip())
}
