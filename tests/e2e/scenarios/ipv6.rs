//! Listeners without `--bind-address`, and clients and pods with IPv6 addresses.

use std::fs;
use std::net::{Ipv6Addr, SocketAddr};

use anyhow::{Context, Result, ensure};
use sluice_tests::connection::Connection;
use sluice_tests::echo::Echo;
use sluice_tests::http::{self, Request};
use sluice_tests::listeners::{self, Listener};
use sluice_tests::manifests::Ingress;
use sluice_tests::ports::{Port, is_free};
use sluice_tests::sluice::{Options, Sluice};

use crate::fixture::{Fixture, HOST};

/// The host whose pod has an IPv6 address.
const SIX: &str = "six.test";

#[allow(
    clippy::print_stderr,
    reason = "a test that is not played is seen in its output"
)]
fn print(text: &str) {
    eprintln!("{text}");
}

/// The pod that answers, and the client that it is told.
async fn answer(from: SocketAddr, host: &str) -> Result<(Option<String>, String)> {
    let page = http::send(from, &Request::get(host, "/")).await?;
    let client = page.json()?["headers"]["x-real-ip"][0].clone();
    let client = client.as_str().unwrap_or_default().to_owned();
    Ok((page.pod().map(str::to_owned), client))
}

/// It listens on all addresses of IPv6 exactly where the kernel lists some.
fn ensure_detected(sluice: &Sluice) -> Result<()> {
    let listed = fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    let listening = listeners::of_tree(sluice.pid())?;
    for port in [sluice.http().port(), sluice.https().port()] {
        let listens = |ip: &str| {
            let address = SocketAddr::new(ip.parse()?, port);
            anyhow::Ok(listening.contains(&Listener::Tcp(address)))
        };
        ensure!(listens("0.0.0.0")?, "not on IPv4: {listening:?}");
        ensure!(
            listens("::")? != listed.trim().is_empty(),
            "the kernel lists {listed:?}: {listening:?}"
        );
    }
    Ok(())
}

/// Each client, of IPv4 or of IPv6, is served by each pod, of IPv4 or of IPv6.
pub(crate) async fn clients_and_pods(data_plane: &str) -> Result<()> {
    let fixture = Fixture::start(1, 1).await?;
    let loopback = |port| SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port);
    let port = Port::reserve()?;
    let has_ipv6 = is_free(loopback(port.number()));
    let mut pods = Vec::new();
    if has_ipv6 {
        pods = Echo::start_all("six", &[loopback(port.number())]).await?;
        let addr = [pods[0].addr()];
        fixture.manifests.service("default", "six", 80, &addr)?;
        let ingress = Ingress::new("default", "six").host(SIX);
        fixture.manifests.ingress(&ingress.path("/", "six", 80))?;
    }
    let options = Options::new(&fixture.manifests).data_plane(data_plane);
    let sluice = options.on_all_addresses().start().await?;
    ensure_detected(&sluice)?;
    let web = Some("web-0".to_owned());
    ensure!(answer(sluice.http(), HOST).await? == (web.clone(), "127.0.0.1".to_owned()));
    if !has_ipv6 {
        print("IPv6 is not played: this machine has no address ::1");
        return sluice.stop();
    }
    let six = Some(pods[0].name().to_owned());
    let (http, https) = (
        loopback(sluice.http().port()),
        loopback(sluice.https().port()),
    );
    for (from, client) in [(sluice.http(), "127.0.0.1"), (http, "::1")] {
        for (host, pod) in [(HOST, &web), (SIX, &six)] {
            let got = answer(from, host).await?;
            ensure!(
                got == (pod.clone(), client.to_owned()),
                "{client} to {host}: {got:?}"
            );
        }
    }
    let mut connection = Connection::open_tls(https, SIX).await.context("TLS")?;
    let page = connection.send(&Request::get(SIX, "/")).await?;
    ensure!(page.pod() == six.as_deref(), "{page:?}");
    // A client writes an address as a host in brackets.
    let literal = http::send(http, &Request::get("[::1]", "/")).await?;
    ensure!(literal.status == 404, "{literal:?}");
    sluice.stop()
}
